import type { WakeTimeline } from "../../api/between-programs/wake-timeline.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { ConnectObserver } from "../connect/connect-request.ts";
import type { DialError } from "../connect/dial.ts";
import type { Target } from "../sandbox/resolve.ts";
import type { Wake } from "../wake/waker.ts";
import type { WakeMetrics, WakeOutcome, WakeTrigger } from "./wake-metrics.ts";

export interface WakeRecordOptions {
  readonly clock: Clock;
  readonly wakes: WakeMetrics;
  readonly podSeenMs: (podUid: string) => number | undefined;
  readonly acceptedMs: (target: Target) => number | undefined;
  readonly onWake: ((timeline: WakeTimeline) => void) | undefined;
}

/** Records the holds and the wake of one connect request. */
export abstract class WakeRecord implements ConnectObserver {
  readonly #seenMs: number;
  readonly #options: WakeRecordOptions;
  /** The answer to the wake that this request caused. */
  #patchedMs: number | undefined;
  #target: Target | undefined;
  #acceptedMs: number | undefined;
  #firstByteMs: number | undefined;

  /** `seenMs`: monotonic milliseconds at the client's arrival. */
  constructor(seenMs: number, options: WakeRecordOptions) {
    this.#seenMs = seenMs;
    this.#options = options;
  }

  protected abstract readonly trigger: WakeTrigger;
  abstract dialFailed(error: DialError): void;

  held(): Disposable {
    return new HoldRecord(this.#options);
  }

  // The sandbox in it is not kept: an open connection may last for days.
  woke({ mine, patchedMs }: Wake): void {
    if (mine && patchedMs !== undefined) this.#patchedMs = patchedMs;
  }

  reached(target: Target): void {
    this.#target = target;
    this.#acceptedMs = this.#options.acceptedMs(target);
  }

  /** The first byte of the response arrived; for a raw connection: it was established. */
  firstByte(): void {
    this.#firstByteMs = this.#options.clock.ticksMs();
    const timeline = this.timeline();
    if (timeline) this.#options.onWake?.(timeline);
  }

  /** Counts the wake, if there was one, and reports its timeline. */
  protected wakeEnded(unanswered: WakeOutcome): WakeTimeline | undefined {
    const { clock, wakes } = this.#options;
    const timeline = this.timeline();
    if (!timeline) return undefined;
    const outcome = this.#firstByteMs === undefined ? unanswered : "answered";
    wakes.wakeEnded(this.trigger, outcome, (timeline.firstByte ?? clock.ticksMs() - this.#seenMs) / 1000);
    return timeline;
  }

  protected timeline(): WakeTimeline | undefined {
    if (this.#patchedMs === undefined) return undefined;
    const since = (ms: number | undefined) => (ms === undefined ? undefined : ms - this.#seenMs);
    return {
      seen: 0,
      wakePatched: since(this.#patchedMs),
      podCreated: since(this.#target && this.#options.podSeenMs(this.#target.podUid)),
      portAccepted: since(this.#acceptedMs),
      firstByte: since(this.#firstByteMs),
    };
  }
}

/** One hold from its begin to its end. */
class HoldRecord implements Disposable {
  readonly #options: Pick<WakeRecordOptions, "clock" | "wakes">;
  readonly #sinceMs: number;

  constructor(options: Pick<WakeRecordOptions, "clock" | "wakes">) {
    this.#options = options;
    this.#sinceMs = options.clock.ticksMs();
    options.wakes.holdBegan();
  }

  [Symbol.dispose](): void {
    const { clock, wakes } = this.#options;
    wakes.holdEnded((clock.ticksMs() - this.#sinceMs) / 1000);
  }
}
