import { allDefinitions } from "../../api/crd/definitions.ts";
import type { ServedKind } from "../served-kind.ts";
import { namespaceKind, nodeKind } from "./builtin/cluster.ts";
import { type ClusterIps, loopbackClusterIps } from "./builtin/cluster-ips.ts";
import { configMapKind, secretKind } from "./builtin/config-data.ts";
import { customResourceDefinitionKind } from "./builtin/custom-resource-definition.ts";
import { endpointSliceKind } from "./builtin/endpoint-slice.ts";
import { coreEventKind, eventKind } from "./builtin/event.ts";
import { leaseKind } from "./builtin/lease.ts";
import { networkPolicyKind } from "./builtin/network-policy.ts";
import { podKind } from "./builtin/pod/pod-kind.ts";
import { serviceKind } from "./builtin/service.ts";
import { serviceAccountKind } from "./builtin/service-account.ts";
import { volumeClaimKind } from "./builtin/volume-claim.ts";
import { customKinds } from "./versions.ts";

export interface ServedKindsOptions {
  /** The allocator of Service addresses; by default a loopback range. */
  readonly clusterIps?: ClusterIps;
}

/**
 * Every kind that the API server in memory serves: the built-in ones that our programs use, and our own in all
 * versions.
 */
export function servedKinds({ clusterIps = loopbackClusterIps() }: ServedKindsOptions = {}): readonly ServedKind[] {
  return [
    configMapKind,
    endpointSliceKind,
    coreEventKind,
    eventKind,
    leaseKind,
    namespaceKind,
    networkPolicyKind,
    nodeKind,
    podKind,
    secretKind,
    serviceKind(clusterIps),
    serviceAccountKind,
    volumeClaimKind,
    customResourceDefinitionKind,
    ...ourKinds(),
  ];
}

let ours: readonly ServedKind[] | undefined;

/** They are stateless, so the servers of a process share them: their schemas take 200 ms to compile. */
function ourKinds(): readonly ServedKind[] {
  ours ??= allDefinitions().flatMap(customKinds);
  return ours;
}
