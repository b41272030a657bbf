import type { MemoryImage } from "../../api/kinds/memory-image.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Turns } from "../../lib/time/turns.ts";
import { ActivityView } from "../idle/activity-view.ts";
import { IdleWatch } from "../idle/idle-watch.ts";
import { type AskWorkload, workloadAsker } from "../idle/probe/ask-workload.ts";
import { SuspendIdle } from "../idle/suspend-idle.ts";
import type { OwnWrites } from "../own-writes.ts";
import type { Observed } from "../sandbox/observed.ts";
import type { Activator, ActivatorFinder } from "./activators/activators.ts";
import { ActivatorRounds } from "./activators/ask-activators.ts";
import { AskThroughActivators } from "./activators/ask-through-activators.ts";
import type { DrainCall } from "./activators/drain-client.ts";
import { usualSilenceLimitMs } from "./activators/silence.ts";
import { FencedPods } from "./handshake/fenced-pods.ts";
import { RejectedSuspensions } from "./handshake/rejected-suspensions.ts";
import { Suspender } from "./handshake/suspender.ts";
import type { SuspensionMetrics } from "./suspension-metrics.ts";

/** How the activators are found and called. */
export interface Activators {
  readonly finder: ActivatorFinder;
  readonly call: DrainCall;
  /** For how long no sandbox is suspended for inactivity after an activator vanished; absent: `usualVanishGraceMs`. */
  readonly vanishGraceMs?: number;
  /** How long one whose Pod is Ready may be silent before it counts for nothing; absent: `usualSilenceLimitMs`. */
  readonly silenceLimitMs?: number;
}

export interface SuspendingOptions {
  readonly client: KubeClient;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly pods: OwnWrites<Pod, "trackedOwner">;
  /** Undefined: nothing captures memory. */
  readonly images: OwnWrites<MemoryImage, "sandboxUid"> | undefined;
  readonly read: (key: string) => Pick<Observed, "sandbox" | "pods" | "memoryRefusal" | "memory"> | undefined;
  /** Undefined: none are configured, and no sandbox is suspended for inactivity. */
  readonly activators: Activators | undefined;
  readonly events: EventRecorder | undefined;
  readonly metrics: SuspensionMetrics;
  readonly turns?: Turns | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Suspending extends Running {
  readonly suspender: Suspender;
  readonly idleWatch: IdleWatch | undefined;
  readonly fencedPods: FencedPods;
}

function askerOf(
  { finder, call }: Activators,
  rounds: ActivatorRounds,
  { clock, log }: SuspendingOptions,
): AskWorkload {
  const isSilent = (activator: Activator) => rounds.hasGoneSilent(activator);
  const through = new AskThroughActivators({ finder, call, clock, log, isSilent });
  return workloadAsker(through, clock);
}

/** Starts to watch for idle sandboxes, if activity can be known, and returns the suspender. */
export function startSuspending(options: SuspendingOptions): Suspending {
  const { activators, clock, log, events, metrics } = options;
  const rounds = activators && new ActivatorRounds({ ...activators, clock, log, events, metrics });
  const fencedPods = new FencedPods(options.read);
  const rejections = new RejectedSuspensions(options);
  const idleWatch =
    activators &&
    rounds &&
    new IdleWatch({
      ...options,
      finder: activators.finder,
      view: new ActivityView(activators.vanishGraceMs, activators.silenceLimitMs),
      rounds,
      fencedPods,
      rejections,
      fallAsleep: new SuspendIdle({ ...options, askWorkload: askerOf(activators, rounds, options) }),
    });
  const suspender = new Suspender({
    ...options,
    askers: rounds,
    rejections,
    isFenced: (sandboxUid, podUid) => fencedPods.has(sandboxUid, podUid),
    silenceLimitMs: activators?.silenceLimitMs ?? usualSilenceLimitMs,
    onCancelled: (key) => idleWatch?.cancelled(key),
  });
  return {
    suspender,
    idleWatch,
    fencedPods,
    failed: idleWatch?.failed ?? new Promise<never>(() => {}),
    async [Symbol.asyncDispose]() {
      await idleWatch?.[Symbol.asyncDispose]();
      suspender[Symbol.dispose]();
    },
  };
}
