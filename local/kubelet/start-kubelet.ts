import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Pod, persistentVolumeClaimType, podType, type Service, serviceType } from "../../api/kinds/core.ts";
import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import type { PodLogSource } from "../../apiserver/pod-log-source.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createEventRecorder } from "../../kube/events/event-recorder.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { makeFoldersSync } from "../../lib/files/make-folders.ts";
import { runGuarded } from "../../lib/guard/guard.ts";
import type { Logger } from "../../lib/log/log.ts";
import { abortable, aborted, type Running, startTask } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { Removals } from "../disk/removals.ts";
import type { ContainerLog } from "./container/container-log.ts";
import { inheritedEnvironment } from "./environment/container-environment.ts";
import { LaunchMemory } from "./environment/launch-memory.ts";
import { registerNode } from "./node/node-object.ts";
import { startOrphanCollector } from "./node/orphaned-pods.ts";
import { podsPerNodeMax } from "./node/schedule.ts";
import { Scheduler } from "./node/scheduler.ts";
import { NodePods } from "./pod/node-pods.ts";
import { defaultPodNetwork, PodAddresses, parsePodNetwork } from "./pod/pod-address.ts";
import { createPodLogs } from "./pod/pod-logs.ts";
import { EveryAddressWatch } from "./process/every-address-watch.ts";
import { ProcessRecords } from "./process/process-records.ts";
import { Directories, isUid } from "./volumes/directories.ts";
import { startClaimBinder } from "./volumes/volume-claim-binder.ts";
import { Volumes } from "./volumes/volumes.ts";

export interface KubeletOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** The parent of volumes, logs and the records of processes. Only one runtime may use it at a time. */
  readonly dataDir: string;
  readonly nodeName?: string;
  /** The source of PATH, HOME and so on for containers; nothing else of it is passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A part of 127.0.0.0/8 for the addresses of Pods, such as `127.64.0.0/11`. */
  readonly podNetwork?: string;
  /** How many Pods that have not ended the node takes. */
  readonly podsMax?: number;
  /** What the arguments and environments of all containers may take. */
  readonly launchBytesMax?: number;
}

export interface Kubelet extends Running {
  /** Resolves when every Pod that existed at the start has been handled. */
  readonly synced: Promise<void>;
  readonly podLogs: PodLogSource;
}

// The machine itself, as Pods see it.
const hostIp = "127.0.0.1";
/** The runtime does not wait for the full grace period when it stops: the Pods are started again next time. */
const suspendLimitMs = 5_000;

/**
 * Replaces scheduler, kubelet and volume binder for the one node of an API server: every container of every Pod becomes
 * a child process in a process group of its own, and every Pod gets a loopback address.
 *
 * **It isolates nothing.** Programs run as the current user, see the same files, network and processes, and have no
 * limit of memory or CPU. Read-only mounts can be written to. It runs programs of this machine and never uses images. A
 * program that listens on every address would answer for all Pods: on Linux it is detected and ended. Other systems
 * cannot detect it, nor processes that have left their process group. There, loopback addresses other than 127.0.0.1
 * may have to be configured first.
 */
export function startKubelet(options: KubeletOptions): Kubelet {
  const { clock, log, dataDir, podNetwork = defaultPodNetwork } = options;
  const range = parsePodNetwork(podNetwork);
  const directories = new Directories(dataDir);
  const liveLogs = new Map<string, ContainerLog>();
  const synced = Promise.withResolvers<void>();
  let pods: NodePods | undefined;
  log.info("containers run as plain processes of this machine, without isolation");

  const task = startTask("the process runtime", async (signal) => {
    for (const directory of [directories.pods, directories.volumes, directories.logs]) {
      makeFoldersSync(directory, 0o700);
    }
    const records = await ProcessRecords.open(directories.processes);
    // Before anything starts: the remains of an earlier run would occupy addresses and volumes.
    await records.killStrays(clock, log);
    const launchMemory = new LaunchMemory(options.launchBytesMax);
    const parts = { directories, liveLogs, records, launchMemory, addresses: new PodAddresses(range) };
    await runNode(options, parts, signal, (ready) => {
      pods = ready;
      synced.resolve();
    });
  });
  return {
    failed: task.failed,
    synced: synced.promise,
    podLogs: createPodLogs({
      statusOf: (podUid, container) => pods?.get(podUid)?.statusOf(container),
      liveLog: (path) => liveLogs.get(path),
      directories,
    }),
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  };
}

interface NodeParts {
  readonly directories: Directories;
  readonly liveLogs: Map<string, ContainerLog>;
  readonly records: ProcessRecords;
  readonly launchMemory: LaunchMemory;
  readonly addresses: PodAddresses;
}

async function runNode(
  options: KubeletOptions,
  parts: NodeParts,
  signal: AbortSignal,
  onSynced: (pods: NodePods) => void,
): Promise<void> {
  const { client, clock, log, nodeName = "local", environment, podsMax = podsPerNodeMax } = options;
  const { directories } = parts;
  const inherited = inheritedEnvironment(environment);
  const tools = { client, clock, log };
  const reporter = { reportingController: "kubelet", reportingInstance: nodeName };
  await using events = createEventRecorder({ ...tools, ...reporter });
  await using podInformer = startInformer({ ...tools, type: podType, indexes: {} });
  await using claimInformer = startInformer({ ...tools, type: persistentVolumeClaimType, indexes: {} });
  const byNamespace = { namespace: ({ metadata }: Service) => [metadata.namespace ?? ""] };
  await using serviceInformer = startInformer({ ...tools, type: serviceType, indexes: byNamespace });
  const claims = claimInformer.store;
  const links = serviceInformer.store;
  await using removals = new Removals(log, clock);
  const volumes = new Volumes({ client, directories, removals, log });
  using watch = new EveryAddressWatch(clock);
  const node = { nodeName, hostIp, podsMax };
  const services = { ...parts, ...tools, ...node, events, links, watch, volumes, removals, inherited };
  const scheduler: Scheduler = new Scheduler({
    ...tools,
    events,
    pods: podInformer.store,
    claims,
    inheritedPath: inherited["PATH"] ?? "",
    podsOnNode: () => pods.active,
    podsMax,
    assign: (pod) => pods.take(pod),
  });
  const pods: NodePods = new NodePods(services, scheduler);

  await abortable(
    Promise.all([
      registerNode({ ...tools, ...node }, signal),
      ...[claimInformer, podInformer, serviceInformer].map(({ synced }) => synced),
    ]),
    signal,
  );
  await removeLeftovers(directories, removals, uidsOf(podInformer.store.list()));
  await volumes.finishRemovals(uidsOf(claims.list()));
  await using _pods = { [Symbol.asyncDispose]: () => pods.suspend(suspendLimitMs) };
  await using binder = startClaimBinder({ client, clock, log, claims: claimInformer, volumes });
  await using looking = scheduler.start();
  await using collecting = startOrphanCollector({ ...tools, pods: podInformer.store, nodeName });
  using _claims = claimInformer.onChange(({ previous, current }) => {
    if (current && !previous) scheduler.checkAgain();
  });
  using _changes = podInformer.onChange((change) => pods.follow(change));
  for (const pod of ranFirst(podInformer.store.list())) {
    runGuarded("kubelet", () => pods.follow({ previous: undefined, current: pod }));
  }
  onSynced(pods);
  const running: readonly Running[] = [podInformer, claimInformer, serviceInformer, binder, looking, collecting];
  await Promise.race([aborted(signal), ...running.map(({ failed }) => failed)]);
}

/** Pods that ran before keep their places on the node. */
const ranFirst = (pods: readonly Stored<Pod>[]): readonly Stored<Pod>[] =>
  pods.toSorted((one, other) => Number(!one.status?.startTime) - Number(!other.status?.startTime));

const uidsOf = (objects: readonly Stored<KubeObject>[]): ReadonlySet<string> =>
  new Set(objects.map(({ metadata }) => metadata.uid));

/**
 * Begins to remove directories of Pods that were deleted while the runtime was down. Only directories of Pods are named by a UID. No Pod
 * waits for it: a program may have left very many files, or some that cannot be removed.
 */
async function removeLeftovers(
  directories: Directories,
  removals: Removals,
  podUids: ReadonlySet<string>,
): Promise<void> {
  for (const directory of [directories.pods, directories.logs]) {
    for (const uid of await readdir(directory)) {
      if (isUid(uid) && !podUids.has(uid)) void removals.remove(join(directory, uid));
    }
  }
}
