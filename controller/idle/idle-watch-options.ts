import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Turns } from "../../lib/time/turns.ts";
import type { Observed } from "../sandbox/observed.ts";
import type { ActivatorFinder } from "../suspension/activators/activators.ts";
import type { ActivatorRounds } from "../suspension/activators/ask-activators.ts";
import type { FencedPods } from "../suspension/handshake/fenced-pods.ts";
import type { RejectedSuspensions } from "../suspension/handshake/rejected-suspensions.ts";
import type { SuspensionMetrics } from "../suspension/suspension-metrics.ts";
import type { ActivityView } from "./activity-view.ts";
import type { SuspendIdle } from "./suspend-idle.ts";

export interface IdleWatchOptions {
  /** The stores' state of a sandbox; undefined once it is gone. */
  readonly read: (key: string) => Pick<Observed, "sandbox" | "pods" | "memoryRefusal"> | undefined;
  readonly finder: ActivatorFinder;
  readonly view: ActivityView;
  readonly rounds: Pick<ActivatorRounds, "activity" | "keep">;
  readonly fencedPods: FencedPods;
  readonly fallAsleep: SuspendIdle;
  readonly rejections: RejectedSuspensions;
  readonly events: EventRecorder | undefined;
  readonly metrics: SuspensionMetrics;
  /** Other work of the process gets its turn between two rounds; absent: when timers get theirs. */
  readonly turns?: Pick<Turns, "rest"> | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}
