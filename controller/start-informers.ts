import { type EndpointSlice, endpointSliceType, tcpFrontSelector } from "../api/between-programs/tcp-front.ts";
import {
  type PersistentVolumeClaim,
  persistentVolumeClaimType,
  podType,
  type Service,
  serviceType,
} from "../api/kinds/core.ts";
import { type MemoryImage, memoryImageType } from "../api/kinds/memory-image.ts";
import type { Stored } from "../api/kinds/meta.ts";
import type { Pod } from "../api/kinds/pod.ts";
import { type Sandbox, sandboxType } from "../api/kinds/sandbox.ts";
import { sandboxNameHashLabel } from "../api/rules/keys.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Informer } from "../kube/informer/informer.ts";
import { startInformer } from "../kube/informer/start-informer.ts";
import { withoutManagedFields } from "../kube/informer/without-managed-fields.ts";
import type { Logger } from "../lib/log/log.ts";
import { firstFailure, type Running } from "../lib/process/lifecycle.ts";
import type { Clock } from "../lib/time/clock.ts";
import { controllerIndexes } from "./claim/observe.ts";
import { podIndexes } from "./sandbox/observe.ts";
import { childNameIndexes } from "./sandbox/queue/namesakes.ts";
import type { SandboxInformers } from "./sandbox/start-sandbox-controller.ts";
import { volumeClaimIndexes } from "./sandbox/volumes/claim-changes.ts";
import type { WatchedStore } from "./stores/store-health.ts";
import { imageIndexes } from "./suspension/hibernation/agent-memory.ts";
import { startNodeAgents } from "./suspension/hibernation/node-agents.ts";
import { partForRules } from "./suspension/hibernation/pod-rules.ts";
import { templateHashIndexes } from "./template/policy-users.ts";
import { memberIndexes } from "./warm-pool/members.ts";
import { podAddressIndexes } from "./webhook/peer-shares.ts";

export interface InformersOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Follow only Pods and Services with the tracking label. Another one is adopted only when the creation of an object of its name fails. */
  readonly trackedOnly: boolean;
  /** Whether there are activators, and so slices that lead to them. */
  readonly tcpFronts: boolean;
  /** Where the node agents are that capture memory; undefined: none do. */
  readonly agentNamespace?: string | undefined;
}

export interface Informers extends SandboxInformers, Running {
  readonly sandboxes: Informer<
    Sandbox,
    "pool" | "controllerUid" | "uid" | "templateHash" | "volumeClaim" | "childName"
  >;
  readonly pods: Informer<Pod, "trackedOwner" | "templateHash" | "address">;
  readonly slices: Informer<EndpointSlice> | undefined;
  /** Resolves once each of them has listed its objects. */
  readonly synced: Promise<void>;
  readonly stores: readonly WatchedStore[];
}

/** Starts the informers of all kinds that the controllers read. */
export function startInformers(options: InformersOptions): Informers {
  const { client, clock, log, trackedOnly, tcpFronts, agentNamespace: namespace } = options;
  const base = { client, clock, log, indexes: {}, transform: withoutManagedFields };
  const tracked = trackedOnly ? { labelSelector: sandboxNameHashLabel } : {};
  const stack = new AsyncDisposableStack();
  const indexes = {
    ...{ ...memberIndexes, ...controllerIndexes, ...identityIndexes, ...templateHashIndexes },
    ...{ ...volumeClaimIndexes, ...childNameIndexes },
  };
  const sandboxes = stack.use(startInformer<Sandbox, keyof typeof indexes>({ ...base, type: sandboxType, indexes }));
  const pods = stack.use(
    startInformer({
      ...base,
      ...tracked,
      type: podType,
      indexes: { ...podIndexes, ...templateHashIndexes, ...podAddressIndexes },
      transform: slimPod,
    }),
  );
  const services = stack.use(startInformer<Service>({ ...base, ...tracked, type: serviceType }));
  const claims = stack.use(
    startInformer<PersistentVolumeClaim>({ ...base, type: persistentVolumeClaimType, transform: slimVolumeClaim }),
  );
  const slices = tcpFronts
    ? stack.use(startInformer<EndpointSlice>({ ...base, type: endpointSliceType, labelSelector: tcpFrontSelector }))
    : undefined;
  const agents = namespace === undefined ? undefined : stack.use(startNodeAgents({ client, clock, log, namespace }));
  const images = agents
    ? stack.use(
        startInformer<MemoryImage, keyof typeof imageIndexes>({
          ...{ ...base, type: memoryImageType },
          indexes: imageIndexes,
        }),
      )
    : undefined;
  const some = [slices, images, agents].filter((informer) => informer !== undefined);
  const all = [sandboxes, pods, services, claims, ...some];
  const failed = firstFailure(...all);
  return {
    sandboxes,
    pods,
    services,
    claims,
    slices,
    images,
    agents,
    stores: all,
    failed,
    synced: Promise.all(all.map((informer) => informer.synced)).then(() => {}),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/**
 * Who owns a volume claim and how it is labelled: all that is read. Volume claims are created, and changed by patches of
 * the metadata, so what is left out is never written. Most volume claims of a cluster belong to other programs.
 */
export function slimVolumeClaim({
  apiVersion,
  kind,
  metadata,
}: Stored<PersistentVolumeClaim>): Stored<PersistentVolumeClaim> {
  const { managedFields: _, finalizers: __, annotations: ___, ...kept } = metadata;
  return { ...(apiVersion && { apiVersion }), ...(kind && { kind }), metadata: kept };
}

const identityIndexes = { uid: ({ metadata }: Stored<Sandbox>): readonly string[] => [metadata.uid] };

/** The fields of a Pod that the controllers read. Writes are patches, so the omitted fields are not lost. */
export function slimPod(pod: Stored<Pod>): Stored<Pod> {
  const { managedFields: _, finalizers: __, ...metadata } = pod.metadata;
  const { nodeName, hostNetwork, containers = [], schedulingGates } = pod.spec ?? {};
  const forRules = partForRules(pod.spec ?? {});
  // With the address of its node, only its declared ports are its own.
  const kept = hostNetwork ? containers.map(({ name, ports = [] }) => ({ name, ports })) : [];
  const spec = {
    ...forRules,
    containers: [...kept, ...(forRules.containers ?? [])],
    ...(nodeName && { nodeName }),
    ...(schedulingGates && { schedulingGates }),
  };
  return { ...pod, metadata, spec };
}
