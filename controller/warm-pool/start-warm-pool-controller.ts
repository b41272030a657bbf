import type { Registry } from "prom-client";
import { keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../api/kinds/network-policy.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/kinds/sandbox-warm-pool.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Turns } from "../../lib/time/turns.ts";
import type { RuntimeMetrics } from "../metrics/runtime-metrics.ts";
import { OwnWrites } from "../own-writes.ts";
import { keysFrom, startKind } from "../start-kind.ts";
import { Creations } from "../stores/creations.ts";
import { templateKeys } from "../template/policy-in-place.ts";
import { memberChanges, poolKeys } from "./member-changes.ts";
import { WarmPoolReconciler } from "./reconciler.ts";
import { Expectations } from "./resize/expectations.ts";
import type { WarmPoolSettings } from "./settings.ts";
import { registerPoolProgress } from "./status/pool-sizes.ts";

export interface WarmPoolInformers {
  readonly pools: Informer<SandboxWarmPool, "template">;
  readonly templates: Informer<SandboxTemplate>;
  readonly networkPolicies: Informer<NetworkPolicy>;
  readonly sandboxes: Informer<Sandbox, "pool">;
  readonly pods: Informer<Pod>;
}

export interface WarmPoolControllerOptions {
  readonly client: KubeClient;
  readonly informers: WarmPoolInformers;
  readonly events: EventRecorder;
  readonly runtimeMetrics: RuntimeMetrics;
  readonly turns?: Turns | undefined;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly workers: number;
  readonly settings: WarmPoolSettings;
}

/** Pools by the key of the template that they name, as an index of their informer. */
export const poolIndexes = {
  template: ({ metadata, spec }: Stored<SandboxWarmPool>): readonly string[] => [
    keyFor(metadata.namespace, spec.sandboxTemplateRef.name),
  ],
};

/** Starts to keep pools filled. The informers must have synced. */
export function startWarmPoolController(options: WarmPoolControllerOptions): Running {
  const { client, informers, events, clock, settings } = options;
  const stores = new DisposableStack();
  const expectations = new Expectations(clock, informers.sandboxes);
  const writers = {
    client,
    creations: new Creations(clock),
    pools: stores.use(new OwnWrites(informers.pools, clock)),
    sandboxes: stores.use(new OwnWrites(informers.sandboxes, clock)),
    expectations,
  };
  const views = {
    ...writers,
    templates: informers.templates.store,
    networkPolicies: informers.networkPolicies.store,
    labelledSandboxes: informers.sandboxes.store,
    pods: informers.pods.store,
  };
  const reconciler = new WarmPoolReconciler({ views, writers, events, clock, settings, turns: options.turns });
  registerPoolProgress(options.registry, () => reconciler.notProgressing);
  const poolsOfPolicy = (policy: Stored<NetworkPolicy>) =>
    templateKeys(policy).flatMap((key) => informers.pools.store.by("template", key).map(keyOf));
  return startKind({
    name: "sandboxwarmpool",
    workers: options.workers,
    objects: informers.pools,
    sources: [
      memberChanges(informers.sandboxes, expectations),
      (enqueue) => writers.pools.onForgotten((pool) => enqueue(keyOf(pool))),
      (enqueue) => writers.sandboxes.onForgotten((sandbox) => poolKeys(sandbox).forEach(enqueue)),
    ],
    obstacles: [
      keysFrom(informers.templates, (template) => informers.pools.store.by("template", keyOf(template)).map(keyOf)),
      keysFrom(informers.networkPolicies, poolsOfPolicy),
    ],
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
    clock,
    log: options.log,
    metrics: options.runtimeMetrics,
    turns: options.turns,
    uses: stores,
  });
}
