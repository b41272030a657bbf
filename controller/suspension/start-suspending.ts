import type { Pod } from "../../api/pod.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import type { OwnWrites } from "../own-writes.ts";
import type { Observed } from "../sandbox/observed.ts";
import type { ActivatorFinder } from "./activators.ts";
import { ActivityView } from "./activity-view.ts";
import { ActivatorRounds } from "./ask-activators.ts";
import type { DrainCall } from "./drain-client.ts";
import { FallAsleep } from "./fall-asleep.ts";
import { IdleWatch } from "./idle-watch.ts";
import { Suspender } from "./suspender.ts";
import type { SuspensionMetrics } from "./suspension-metrics.ts";

/** How the activators are found and called. */
export interface Activators {
  readonly finder: ActivatorFinder;
  readonly call: DrainCall;
  /** How long nobody falls asleep after one has vanished; absent: `usualVanishGraceMs`. */
  readonly vanishGraceMs?: number;
}

export interface SuspendingOptions {
  readonly client: KubeClient;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly pods: OwnWrites<Pod, "sandboxHash">;
  readonly look: (key: string) => Pick<Observed, "sandbox" | "pods"> | undefined;
  /** Undefined: none are configured, and nothing sleeps by itself. */
  readonly activators: Activators | undefined;
  readonly events: EventRecorder | undefined;
  readonly metrics: SuspensionMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Suspending extends Running {
  readonly suspender: Suspender;
  readonly idleWatch: IdleWatch | undefined;
}

/** Starts to watch who is idle, where that can be known, and returns who carries suspensions out. */
export function startSuspending(options: SuspendingOptions): Suspending {
  const { activators, clock, log, events, metrics } = options;
  const rounds = activators && new ActivatorRounds({ ...activators, clock, log, events, metrics });
  const idleWatch =
    activators &&
    rounds &&
    new IdleWatch({
      ...options,
      finder: activators.finder,
      view: new ActivityView(activators.vanishGraceMs),
      rounds,
      fallAsleep: new FallAsleep(options),
    });
  const suspender = new Suspender({
    ...options,
    askers: rounds,
    onCalledOff: (key) => idleWatch?.calledOff(key),
  });
  return {
    suspender,
    idleWatch,
    failed: idleWatch?.failed ?? new Promise<never>(() => {}),
    async [Symbol.asyncDispose]() {
      await idleWatch?.[Symbol.asyncDispose]();
    },
  };
}
