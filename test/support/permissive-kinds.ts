import {
  configMapType,
  eventType,
  leaseType,
  namespaceType,
  nodeType,
  persistentVolumeClaimType,
  podType,
  secretType,
  serviceAccountType,
  serviceType,
} from "../../api/core.ts";
import type { KubeObject } from "../../api/meta.ts";
import type { ResourceType } from "../../api/resource-type.ts";
import { sandboxType } from "../../api/sandbox.ts";
import type { ServedKind } from "../../kube/memory/served-kind.ts";

/** A kind without a schema: takes every object as it is. For tests that are not about the kind. */
export function permissiveKind(type: ResourceType, options: Partial<ServedKind> = {}): ServedKind {
  return {
    type,
    singular: type.kind.toLowerCase(),
    listKind: `${type.kind}List`,
    shortNames: [],
    categories: [],
    hasStatus: true,
    columns: [],
    schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    strategicMerge: true,
    prepare: (object) => ({ object, unknownFields: [] }),
    validate: () => [],
    selectableFields: () => ({}),
    graceSeconds: () => 0,
    ...options,
  };
}

const networkPolicyType: ResourceType = {
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};

interface PodParts extends KubeObject {
  readonly spec?: { readonly nodeName?: string; readonly terminationGracePeriodSeconds?: number };
  readonly status?: { readonly phase?: string };
}

const pods = permissiveKind(podType, {
  selectableFields: ({ spec, status }: PodParts) => ({
    "spec.nodeName": spec?.nodeName ?? "",
    "status.phase": status?.phase ?? "",
  }),
  // A Pod that no node has taken goes at once: there is nobody to stop it.
  graceSeconds: ({ spec }: PodParts, requested) =>
    spec?.nodeName ? (requested ?? spec.terminationGracePeriodSeconds ?? 30) : 0,
});

/** The kinds that the programs read and write, without schemas. */
export const permissiveKinds: readonly ServedKind[] = [
  permissiveKind(namespaceType),
  permissiveKind(nodeType),
  pods,
  permissiveKind(serviceType),
  permissiveKind(persistentVolumeClaimType),
  ...[configMapType, secretType, serviceAccountType, leaseType, eventType, networkPolicyType].map((type) =>
    permissiveKind(type, { hasStatus: false }),
  ),
  permissiveKind(sandboxType, { strategicMerge: false }),
];
