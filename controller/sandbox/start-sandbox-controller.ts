import type { PersistentVolumeClaim, Service } from "../../api/kinds/core.ts";
import type { MemoryImage } from "../../api/kinds/memory-image.ts";
import { type KubeObject, keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxNameHashLabel } from "../../api/rules/keys.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import { openNotes } from "../../kube/notes/open-notes.ts";
import type { Logger } from "../../lib/log/log.ts";
import { firstFailure, type Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Turns } from "../../lib/time/turns.ts";
import type { IdleWatch } from "../idle/idle-watch.ts";
import type { RuntimeMetrics } from "../metrics/runtime-metrics.ts";
import { OwnWrites } from "../own-writes.ts";
import { keysFrom, type Source, startKind } from "../start-kind.ts";
import { Creations } from "../stores/creations.ts";
import { AgentMemory } from "../suspension/hibernation/agent-memory.ts";
import type { MemoryProvider } from "../suspension/hibernation/memory-provider.ts";
import { type NodeAgents, onReadiness } from "../suspension/hibernation/node-agents.ts";
import type { Permit } from "../suspension/hibernation/permit.ts";
import { startOrphanRemoval } from "../suspension/hibernation/remove-orphans.ts";
import type { Signer } from "../suspension/hibernation/signing.ts";
import { type Activators, startSuspending } from "../suspension/start-suspending.ts";
import type { SuspensionMetrics } from "../suspension/suspension-metrics.ts";
import type { PortShortages } from "../tcp-front/port-shortages.ts";
import type { PolicyGate } from "../template/policy-gate.ts";
import type { Traces } from "../traces.ts";
import type { SandboxWriters } from "./apply/sandbox-writers.ts";
import type { LifecycleMetrics } from "./metrics/lifecycle-metrics.ts";
import { observe } from "./observe.ts";
import { isAwaited } from "./queue/is-awaited.ts";
import { namesakeChanges } from "./queue/namesakes.ts";
import { SandboxReconciler } from "./reconciler.ts";
import { claimChanges } from "./volumes/claim-changes.ts";
import { isUnclaimedMember } from "./write-priority.ts";

export interface SandboxInformers {
  readonly sandboxes: Informer<Sandbox, "volumeClaim" | "childName" | "uid">;
  readonly pods: Informer<Pod, "trackedOwner">;
  readonly services: Informer<Service>;
  readonly claims: Informer<PersistentVolumeClaim>;
  /** Undefined: no node agents capture memory. */
  readonly images?: Informer<MemoryImage, "sandboxUid" | "node"> | undefined;
  /** Undefined: the same. */
  readonly agents?: NodeAgents | undefined;
}

export interface SandboxControllerOptions {
  readonly client: KubeClient;
  /** For writes that no client waits for. */
  readonly slowClient: KubeClient;
  readonly informers: SandboxInformers;
  readonly events: EventRecorder | undefined;
  readonly lifecycleMetrics: LifecycleMetrics;
  readonly runtimeMetrics: RuntimeMetrics;
  readonly turns?: Turns | undefined;
  readonly traces: Traces;
  readonly clock: Clock;
  readonly log: Logger;
  readonly workers: number;
  readonly clusterDomain: string;
  readonly portShortages: PortShortages;
  readonly writeBehindWindowMs: number;
  /** The activators in front of the sandboxes; undefined: none, and a suspension proceeds without asking. */
  readonly activators: Activators | undefined;
  readonly suspensionMetrics: SuspensionMetrics;
  readonly memory: MemoryProvider;
  /** Absent: no Pod is restored. */
  readonly signer?: Signer | undefined;
  /** Undefined: there are no templates, and no Pod waits for their policies. */
  readonly policyGate: PolicyGate | undefined;
}

/** Starts to bring sandboxes in line with their objects. The informers must have synced. */
export function startSandboxController(options: SandboxControllerOptions): Running {
  const { client, informers, clock, events, lifecycleMetrics: metrics, clusterDomain, writeBehindWindowMs } = options;
  const stores = new DisposableStack();
  const writers = openWriters(stores, options);
  const views = { ...writers, podIndex: informers.pods.store, memory: memoryOf(stores, writers, options) };
  const suspending = startSuspending({
    ...{ client, events, clock, log: options.log, activators: options.activators, metrics: options.suspensionMetrics },
    ...{ sandboxes: writers.sandboxes, pods: writers.pods, images: writers.images, turns: options.turns },
    read: (key) => observe(key, views),
  });
  const { suspender, idleWatch } = suspending;
  if (idleWatch) stores.use(keepWatching(idleWatch, informers));
  const reconciler = new SandboxReconciler({
    notes: openNotes(stores, [writers.sandboxes], options),
    views,
    writers,
    unhurried: { ...writers, client: options.slowClient },
    events,
    metrics,
    traces: options.traces,
    clock,
    clusterDomain,
    writeBehindWindowMs,
    suspender,
    hasActivators: options.activators !== undefined,
    activity: idleWatch,
    portShortages: options.portShortages,
    policyGate: options.policyGate,
  });
  const kind = startKind({
    ...{ name: "sandbox", workers: options.workers, objects: informers.sandboxes },
    mayWait: (key) => {
      const sandbox = writers.sandboxes.get(key);
      return sandbox !== undefined && isUnclaimedMember(sandbox);
    },
    isAwaited: (key) => isAwaited(writers.sandboxes.get(key)),
    sources: [
      ...sourcesOf(informers, writers, idleWatch),
      (enqueue) => suspending.fencedPods.onLostSeal(enqueue),
      (enqueue) => suspender.onAnswered(enqueue),
      ...memoryChanges(options),
    ],
    obstacles: obstacleChanges(options),
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
    clock,
    log: options.log,
    metrics: options.runtimeMetrics,
    turns: options.turns,
  });
  const orphans = removeOrphans(options);
  const failed = firstFailure(kind, suspending, orphans);
  return {
    failed,
    async [Symbol.asyncDispose]() {
      await Promise.all([kind, suspending, orphans].map((part) => part?.[Symbol.asyncDispose]()));
      stores.dispose();
    },
  };
}

function removeOrphans({ informers, slowClient: client, clock, log }: SandboxControllerOptions): Running | undefined {
  const { images, sandboxes } = informers;
  const exists = (uid: string) => sandboxes.store.by("uid", uid).length > 0;
  return images && startOrphanRemoval({ client, clock, log, images: images.store, exists });
}

function openWriters(stores: DisposableStack, { client, informers, clock, signer }: SandboxControllerOptions) {
  return {
    client,
    creations: new Creations(clock),
    sandboxes: stores.use(new OwnWrites(informers.sandboxes, clock)),
    pods: stores.use(new OwnWrites(informers.pods, clock)),
    services: stores.use(new OwnWrites(informers.services, clock)),
    claims: stores.use(new OwnWrites(informers.claims, clock)),
    images: informers.images && stores.use(new OwnWrites(informers.images, clock)),
    signPermit: signer && ((permit: Permit) => signer.sign(permit)),
  };
}

/** Node agents keep memory where they are enabled; else whatever was given. */
function memoryOf(stores: DisposableStack, writers: SandboxWriters, options: SandboxControllerOptions): MemoryProvider {
  const { clock, informers, memory, signer } = options;
  if (!informers.images || !informers.agents || !writers.images || !signer) return memory;
  const { sandboxes, images } = writers;
  return stores.use(
    new AgentMemory({
      images,
      store: informers.images.store,
      agents: informers.agents.store,
      signer,
      sandboxes,
      clock,
    }),
  );
}

/**
 * The sources of reconciles of a sandbox besides itself: its children, its times, and our own writes that the watch never
 * confirmed.
 */
function sourcesOf(
  informers: SandboxInformers,
  { sandboxes, pods, services, claims, images }: SandboxWriters,
  idleWatch: IdleWatch | undefined,
): readonly Source[] {
  return [
    keysFrom(informers.pods, trackedOwner),
    keysFrom(informers.services, trackedOwner),
    claimChanges("own", informers.claims, informers.sandboxes),
    ...(informers.images ? [keysFrom(informers.images, ownerKeys)] : []),
    ...(idleWatch ? [(enqueue: (key: string) => void) => idleWatch.onTimes(enqueue)] : []),
    (enqueue) => sandboxes.onForgotten((sandbox) => enqueue(keyOf(sandbox))),
    ...[pods, services, claims, ...(images ? [images] : [])].map(
      (children) => (enqueue: (key: string) => void) =>
        children.onForgotten((child) => ownerKeys(child).forEach(enqueue)),
    ),
  ];
}

/** What a sandbox may have waited for. */
const obstacleChanges = ({ informers, policyGate, portShortages }: SandboxControllerOptions): readonly Source[] => [
  namesakeChanges(informers.pods, informers.sandboxes),
  namesakeChanges(informers.services, informers.sandboxes),
  claimChanges("others", informers.claims, informers.sandboxes),
  (enqueue) => portShortages.onChange(enqueue),
  (enqueue) => policyGate?.onChange(enqueue) ?? new DisposableStack(),
];

/** What the preflight depends on besides the MemoryImages: the agent of the node, and the key of the controller. */
function memoryChanges({ informers: { agents, images }, signer }: SandboxControllerOptions): readonly Source[] {
  if (!agents || !images || !signer) return [];
  const ofNode = (nodeName: string) => images.store.by("node", nodeName).flatMap(ownerKeys);
  return [
    (enqueue) => onReadiness(agents, (nodeName) => ofNode(nodeName).forEach(enqueue)),
    (enqueue) => signer.onKey(() => images.store.list().flatMap(ownerKeys).forEach(enqueue)),
  ];
}

/** Has the watch check every existing sandbox, and each sandbox that changes or whose Pod changes. */
function keepWatching(watch: IdleWatch, { sandboxes, pods }: SandboxInformers): Disposable {
  for (const sandbox of sandboxes.store.list()) watch.checkAt(keyOf(sandbox));
  const subscriptions = new DisposableStack();
  subscriptions.use(
    sandboxes.onChange(({ key, previous, current }) => {
      if (previous && previous.metadata.uid !== current?.metadata.uid) watch.forget(previous);
      watch.checkAt(key);
    }),
  );
  subscriptions.use(
    pods.onChange(({ previous, current }) => {
      const pod = current ?? previous;
      for (const key of pod ? ownerKeys(pod) : []) watch.checkAt(key);
    }),
  );
  return subscriptions;
}

/** The sandbox of a child with the tracking label; changes of other children are ignored. */
const trackedOwner = (child: Stored<KubeObject>): readonly string[] =>
  child.metadata.labels?.[sandboxNameHashLabel] === undefined ? [] : ownerKeys(child);

function ownerKeys(child: Stored<KubeObject>): readonly string[] {
  const owner = controllerOfKind(child, sandboxType);
  return owner ? [keyFor(child.metadata.namespace, owner.name)] : [];
}
