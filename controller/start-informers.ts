import {
  type PersistentVolumeClaim,
  persistentVolumeClaimType,
  podType,
  type Service,
  serviceType,
} from "../api/core.ts";
import { sandboxNameHashLabel } from "../api/keys.ts";
import type { KubeObject, Stored } from "../api/meta.ts";
import type { Pod } from "../api/pod.ts";
import { type Sandbox, sandboxType } from "../api/sandbox.ts";
import { type EndpointSlice, endpointSliceType, tcpFrontSelector } from "../api/tcp-front.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Informer } from "../kube/informer.ts";
import { startInformer } from "../kube/start-informer.ts";
import type { Clock } from "../lib/clock.ts";
import { firstFailure, type Running } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/log.ts";
import { controllerIndexes } from "./claim/observe.ts";
import { podIndexes } from "./sandbox/observe.ts";
import type { SandboxInformers } from "./sandbox/start-sandbox-controller.ts";
import { memberIndexes } from "./warm-pool/members.ts";

export interface InformersOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Follow only Pods and Services with the tracking label. Others are then never adopted. */
  readonly trackedOnly: boolean;
  /** Whether there are activators, and so slices that lead to them. */
  readonly tcpFronts: boolean;
}

export interface Informers extends SandboxInformers, Running {
  readonly sandboxes: Informer<Sandbox, "pool" | "controllerUid" | "uid">;
  readonly slices: Informer<EndpointSlice> | undefined;
  /** Resolves once every one of them has listed what there is. */
  readonly synced: Promise<void>;
}

/** Starts to follow everything that the controllers look at. */
export function startInformers({ client, clock, log, trackedOnly, tcpFronts }: InformersOptions): Informers {
  const base = { client, clock, log, indexes: {}, transform: withoutManagedFields };
  const tracked = trackedOnly ? { labelSelector: sandboxNameHashLabel } : {};
  const stack = new AsyncDisposableStack();
  const indexes = { ...memberIndexes, ...controllerIndexes, ...identityIndexes };
  const sandboxes = stack.use(startInformer<Sandbox, keyof typeof indexes>({ ...base, type: sandboxType, indexes }));
  const pods = stack.use(
    startInformer({ ...base, ...tracked, type: podType, indexes: podIndexes, transform: slimPod }),
  );
  const services = stack.use(startInformer<Service>({ ...base, ...tracked, type: serviceType }));
  const claims = stack.use(startInformer<PersistentVolumeClaim>({ ...base, type: persistentVolumeClaimType }));
  const slices = tcpFronts
    ? stack.use(startInformer<EndpointSlice>({ ...base, type: endpointSliceType, labelSelector: tcpFrontSelector }))
    : undefined;
  const all = [sandboxes, pods, services, claims, ...(slices ? [slices] : [])];
  const failed = firstFailure(...all);
  return {
    sandboxes,
    pods,
    services,
    claims,
    slices,
    failed,
    synced: Promise.all(all.map((informer) => informer.synced)).then(() => {}),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const identityIndexes = { uid: ({ metadata }: Stored<Sandbox>): readonly string[] => [metadata.uid] };

/** An object without the record of who wrote what, which nobody here reads. */
export function withoutManagedFields<T extends KubeObject>(object: Stored<T>): Stored<T> {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** A Pod as far as anybody here looks: what is left out never comes back in a write, for those are patches. */
function slimPod(pod: Stored<Pod>): Stored<Pod> {
  const { managedFields: _, finalizers: __, ...metadata } = pod.metadata;
  const { nodeName } = pod.spec ?? {};
  return { ...pod, metadata, spec: { containers: [], ...(nodeName && { nodeName }) } };
}
