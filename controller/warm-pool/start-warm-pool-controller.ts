import { keyFor, keyOf, type Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/sandbox-warm-pool.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Informer } from "../../kube/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { OwnWrites } from "../own-writes.ts";
import type { RuntimeMetrics } from "../runtime-metrics.ts";
import { keysFrom, startKind } from "../start-kind.ts";
import { Expectations } from "./expectations.ts";
import { memberChanges, poolKeys } from "./member-changes.ts";
import { WarmPoolReconciler } from "./reconciler.ts";
import type { WarmPoolSettings } from "./settings.ts";

export interface WarmPoolInformers {
  readonly pools: Informer<SandboxWarmPool, "template">;
  readonly templates: Informer<SandboxTemplate>;
  readonly sandboxes: Informer<Sandbox, "pool">;
}

export interface WarmPoolControllerOptions {
  readonly client: KubeClient;
  readonly informers: WarmPoolInformers;
  readonly events: EventRecorder;
  readonly runtimeMetrics: RuntimeMetrics;
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
  const expectations = new Expectations(clock);
  const writers = {
    client,
    pools: stores.use(new OwnWrites(informers.pools, clock)),
    sandboxes: stores.use(new OwnWrites(informers.sandboxes, clock)),
    expectations,
  };
  const views = { ...writers, templates: informers.templates.store, labelledSandboxes: informers.sandboxes.store };
  const reconciler = new WarmPoolReconciler({ views, writers, events, clock, settings });
  return startKind({
    name: "sandboxwarmpool",
    workers: options.workers,
    sources: [
      keysFrom(informers.pools, (pool) => [keyOf(pool)]),
      keysFrom(informers.templates, (template) => informers.pools.store.by("template", keyOf(template)).map(keyOf)),
      memberChanges(informers.sandboxes, expectations),
      (enqueue) => writers.pools.onForgotten((pool) => enqueue(keyOf(pool))),
      (enqueue) => writers.sandboxes.onForgotten((sandbox) => poolKeys(sandbox).forEach(enqueue)),
    ],
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
    clock,
    log: options.log,
    metrics: options.runtimeMetrics,
    uses: stores,
  });
}
