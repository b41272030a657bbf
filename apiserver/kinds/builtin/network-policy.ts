import { labelSelector } from "../../../api/crd/selectors.ts";
import { described, int32, intOrString, listOf, object, oneOf, text, withDefault } from "../../../api/crd/shapes.ts";
import type { KubeObject } from "../../../api/kinds/meta.ts";
import { type NetworkPolicy, networkPolicyType } from "../../../api/kinds/network-policy.ts";
import { kindSchema } from "../metadata/schema.ts";
import { builtinKind } from "./builtin-kind.ts";
import { ageColumn, column, keyValues, nameColumn } from "./columns.ts";

const port = object({
  protocol: withDefault(oneOf("SCTP", "TCP", "UDP"), "TCP"),
  port: described("Number or name of a port; absent: all.", intOrString),
  endPort: described("With port: the last of a range.", int32),
});

const peer = object({
  podSelector: labelSelector,
  namespaceSelector: labelSelector,
  ipBlock: object({ "cidr*": text, except: listOf(text) }),
});

export const networkPolicyKind = builtinKind({
  type: networkPolicyType,
  shortNames: ["netpol"],
  schema: kindSchema("NetworkPolicy says which traffic Pods may have.", {
    spec: object({
      podSelector: described("The Pods that the policy selects.", labelSelector),
      ingress: described("Allowed incoming connections.", listOf(object({ ports: listOf(port), from: listOf(peer) }))),
      egress: described("Allowed outgoing connections.", listOf(object({ ports: listOf(port), to: listOf(peer) }))),
      policyTypes: described("Ingress, Egress or both.", listOf(oneOf("Egress", "Ingress"))),
    }),
  }),
  columns: [
    nameColumn,
    column<NetworkPolicy>("Pod-Selector", ({ spec }) => keyValues(spec?.podSelector?.matchLabels)),
    ageColumn,
  ],
  complete: (object) => {
    const { spec, ...policy } = object as NetworkPolicy;
    if (!spec) return object;
    const policyTypes = spec.policyTypes ?? ["Ingress", ...((spec.egress?.length ?? 0) > 0 ? ["Egress"] : [])];
    return { ...policy, spec: { podSelector: {}, ...spec, policyTypes } } as KubeObject;
  },
});
