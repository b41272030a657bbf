import { podType } from "../../../api/kinds/core.ts";
import type { KubeObject, Stored } from "../../../api/kinds/meta.ts";
import { type NetworkPolicy, networkPolicyType } from "../../../api/kinds/network-policy.ts";
import type { Pod, PodStatus } from "../../../api/kinds/pod.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../../api/kinds/sandbox-claim.ts";
import {
  type SandboxTemplate,
  type SandboxTemplateSpec,
  sandboxTemplateType,
} from "../../../api/kinds/sandbox-template.ts";
import {
  type SandboxWarmPool,
  type SandboxWarmPoolSpec,
  sandboxWarmPoolType,
} from "../../../api/kinds/sandbox-warm-pool.ts";
import { warmPoolSandboxLabel } from "../../../api/rules/keys.ts";
import { OwnWrites } from "../../../controller/own-writes.ts";
import { Creations } from "../../../controller/stores/creations.ts";
import { makeNetworkPolicy } from "../../../controller/template/make-network-policy.ts";
import { memberChanges } from "../../../controller/warm-pool/member-changes.ts";
import { controllingPool, memberIndexes } from "../../../controller/warm-pool/members.ts";
import type { WarmPoolWriters } from "../../../controller/warm-pool/reconcile-members.ts";
import { WarmPoolReconciler, type WarmPoolReconcilerOptions } from "../../../controller/warm-pool/reconciler.ts";
import { Expectations } from "../../../controller/warm-pool/resize/expectations.ts";
import type { WarmPoolSettings } from "../../../controller/warm-pool/settings.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { NewEvent } from "../../../kube/events/event-recorder.ts";
import type { Indexes } from "../../../kube/informer/indexed-store.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import type { Outcome } from "../../../lib/queues/workers.ts";
import { type Clock, FakeClock } from "../../../lib/time/clock.ts";
import { controlledBy, noon } from "../builders/builders.ts";
import { feedInformer } from "../fakes/fed-informer.ts";
import { type RecordingClient, recordCalls } from "../fakes/recording-client.ts";
import { openMemoryApi } from "../memory-api.ts";

const namespace = "default";
const templateName = { namespace, name: "tpl" };
const poolName = { namespace, name: "warm" };

const defaults: WarmPoolSettings = {
  maxBatch: 300,
  replenishDelayMs: 0,
  maxRefillPerSecond: 0,
  readinessGraceMs: 300_000,
  notProgressingRecheckMs: 60_000,
  evictable: true,
};

/**
 * A reconciler of pools on an API server in memory. The test controls its stores, its reconciles and the time: the stores
 * have the state of the last `refresh`.
 */
export interface PoolBench extends AsyncDisposable {
  readonly client: RecordingClient;
  readonly clock: FakeClock;
  readonly happenings: readonly NewEvent[];
  /** Another controller takes over. It sees the stored objects, and has no memory of earlier writes. */
  restart(): Promise<void>;
  /** The same, but the stores have the state of the last `refresh`: the watches of that controller lag behind. */
  restartBehind(): void;
  /** Updates the stores from the API server. */
  refresh(): Promise<void>;
  /** One reconcile of the pool. */
  reconcile(): Promise<Outcome>;
  /** Refreshes and reconciles until nothing more is written. */
  settle(): Promise<void>;
  members(): Promise<readonly Stored<Sandbox>[]>;
  pool(): Promise<Stored<SandboxWarmPool>>;
  changePool(spec: object): Promise<void>;
  changeTemplate(spec: object): Promise<void>;
  /** Gives a member to a claim. */
  take(): Promise<void>;
  /** Reports a member as ready, as the Sandbox controller does. */
  makeReady(member: Stored<Sandbox>): Promise<void>;
  /** Creates the Pod of a member with this status. */
  makePod(member: Stored<Sandbox>, status: PodStatus): Promise<void>;
}

export interface PoolBenchOptions {
  readonly settings?: Partial<WarmPoolSettings>;
  readonly pool?: Partial<SandboxWarmPoolSpec>;
  readonly template?: Partial<SandboxTemplateSpec>;
  /** Whether the template's NetworkPolicy is in place; true by default. */
  readonly policy?: boolean;
  /** How far the reconciler's wall clock is ahead of the API server's; 0 by default. */
  readonly clockAheadMs?: number;
}

export async function openPoolBench(options: PoolBenchOptions = {}): Promise<PoolBench> {
  await using stack = new AsyncDisposableStack();
  const clock = new FakeClock(noon);
  const { clockAheadMs = 0 } = options;
  const api = stack.use(await openMemoryApi({ clock: clockBehind(clock, clockAheadMs) }));
  const client = recordCalls(api.client);
  const settings = { ...defaults, ...options.settings };
  const pools = handWatched<SandboxWarmPool>(sandboxWarmPoolType, {}, clock);
  const templates = handWatched<SandboxTemplate>(sandboxTemplateType, {}, clock);
  const policies = handWatched<NetworkPolicy>(networkPolicyType, {}, clock);
  const sandboxes = handWatched<Sandbox, "pool">(sandboxType, memberIndexes, clock);
  const pods = handWatched<Pod>(podType, {}, clock);

  const happenings: NewEvent[] = [];
  const events = { record: (happening: NewEvent) => happenings.push(happening), async [Symbol.asyncDispose]() {} };
  const start = () =>
    startReconciler({ pools, templates, policies, sandboxes, pods }, { client, events, clock, settings });
  let running = start();

  const sandboxTemplateRef = { name: templateName.name };
  const template = await api.client.create(sandboxTemplateType, {
    metadata: templateName,
    spec: { podTemplate: aPod, ...options.template },
  });
  if (options.policy ?? true) await api.client.create(networkPolicyType, makeNetworkPolicy(template));
  await api.client.create(sandboxWarmPoolType, { metadata: poolName, spec: { sandboxTemplateRef, ...options.pool } });

  const refresh = async () => {
    for (const watched of [pools, templates, policies, sandboxes, pods]) await watched.catchUp(api.client);
  };
  const reconcile = () => running.reconciler.reconcile("default/warm", new AbortController().signal);
  const restartBehind = () => {
    running[Symbol.dispose]();
    running = start();
  };
  await refresh();
  const opened = stack.move();
  return {
    client,
    clock,
    happenings,
    async restart() {
      await refresh();
      restartBehind();
    },
    restartBehind,
    refresh,
    reconcile,
    async settle() {
      for (let seen = -1, isDue = true; isDue || seen !== client.calls.length; ) {
        seen = client.calls.length;
        await refresh();
        const { requeueAfterMs = Number.POSITIVE_INFINITY } = await reconcile();
        isDue = requeueAfterMs <= 1;
      }
    },
    ...othersOn(api.client),
    async [Symbol.asyncDispose]() {
      running[Symbol.dispose]();
      await opened.disposeAsync();
    },
  };
}

/** A clock with the same ticks and another wall-clock time. */
const clockBehind = (clock: FakeClock, byMs: number): Clock => ({
  now: () => new Date(clock.now().getTime() - byMs),
  ticksMs: () => clock.ticksMs(),
  after: (delayMs, task) => clock.after(delayMs, task),
  sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
});

const aPod = { spec: { containers: [{ name: "main", image: "busybox" }] } };

type Others = "members" | "pool" | "changePool" | "changeTemplate" | "take" | "makeReady" | "makePod";

/** The actions of all clients except the reconciler. */
function othersOn(client: KubeClient): Pick<PoolBench, Others> {
  const merge = (body: object) => ({ type: "merge", body }) as const;
  return {
    members: async () => (await client.list(sandboxType, { namespace })).items,
    pool: () => client.get(sandboxWarmPoolType, poolName),
    async changePool(spec) {
      await client.patch(sandboxWarmPoolType, poolName, merge({ spec }));
    },
    async changeTemplate(spec) {
      await client.patch(sandboxTemplateType, templateName, merge({ spec }));
    },
    async take() {
      const claim = await client.create(sandboxClaimType, {
        metadata: { namespace, generateName: "claim-" },
        spec: { warmPoolRef: { name: poolName.name } },
      });
      const { items } = await client.list(sandboxType, { namespace });
      const name = items.find((sandbox) => controllingPool(sandbox))?.metadata.name ?? "";
      const metadata = { labels: { [warmPoolSandboxLabel]: null }, ownerReferences: [controlledBy(claim)] };
      await client.patch(sandboxType, { namespace, name }, merge({ metadata }));
    },
    async makeReady({ metadata: { name } }) {
      const ready = {
        type: "Ready",
        status: "True",
        reason: "DependenciesReady",
        message: "",
        lastTransitionTime: noon,
      };
      const patch = merge({ status: { conditions: [ready] } });
      await client.patch(sandboxType, { namespace, name }, patch, { subresource: "status" });
    },
    async makePod({ metadata: { name } }, status) {
      await client.create(podType, { metadata: { namespace, name }, ...aPod });
      await client.patch(podType, { namespace, name }, merge({ status }), { subresource: "status" });
    },
  };
}

/** A bench with a full pool whose members are all ready. */
export async function openFullPoolBench(replicas: number, options: PoolBenchOptions = {}): Promise<PoolBench> {
  const bench = await openPoolBench({ ...options, pool: { replicas, ...options.pool } });
  await bench.settle();
  for (const member of await bench.members()) await bench.makeReady(member);
  await bench.settle();
  bench.client.calls.length = 0;
  return bench;
}

interface Watched {
  readonly pools: HandWatched<SandboxWarmPool>;
  readonly templates: HandWatched<SandboxTemplate>;
  readonly policies: HandWatched<NetworkPolicy>;
  readonly sandboxes: HandWatched<Sandbox, "pool">;
  readonly pods: HandWatched<Pod>;
}

function startReconciler(
  { pools, templates, policies, sandboxes, pods }: Watched,
  { client, clock, ...options }: Omit<WarmPoolReconcilerOptions, "views" | "writers"> & Pick<WarmPoolWriters, "client">,
) {
  const stack = new DisposableStack();
  const expectations = new Expectations(clock, sandboxes.informer);
  stack.use(memberChanges(sandboxes.informer, expectations)(() => {}));
  const writers = {
    client,
    creations: new Creations(clock),
    pools: stack.use(new OwnWrites(pools.informer, clock)),
    sandboxes: stack.use(new OwnWrites(sandboxes.informer, clock)),
    expectations,
  };
  const views = {
    ...writers,
    templates: templates.informer.store,
    networkPolicies: policies.informer.store,
    labelledSandboxes: sandboxes.informer.store,
    pods: pods.informer.store,
  };
  const reconciler = new WarmPoolReconciler({ ...options, clock, views, writers });
  return { reconciler, [Symbol.dispose]: () => stack.dispose() };
}

interface HandWatched<T extends KubeObject, I extends string = never> {
  readonly informer: Informer<T, I>;
  catchUp(client: Pick<RecordingClient, "list">): Promise<void>;
}

/** An informer that changes only when `catchUp` is called. */
function handWatched<T extends KubeObject, I extends string = never>(
  type: ResourceType<T>,
  indexes: Indexes<T, I>,
  clock: Clock,
): HandWatched<T, I> {
  const { informer, feed } = feedInformer(indexes);
  let listedMs = 0;
  return {
    informer: { ...informer, hasSeen: ({ atMs }) => listedMs > atMs },
    async catchUp(client) {
      listedMs = clock.ticksMs();
      feed.replaceAll((await client.list(type)).items);
    },
  };
}
