import type { Clock, Timer } from "../../lib/time/clock.ts";
import { type ClockReading, hasJumped, readClocks } from "../../lib/time/clock-jumps.ts";
import { ApiUnreachable } from "../client/errors.ts";

/**
 * A server with bookmarks sends one about every minute, at most 75 s apart. A longer silence is a connection whose peer
 * is gone, or a kind without changes since the server's own start: it sends no bookmarks then either. Both end in a new
 * watch from the same version, which misses nothing and costs less than a list. The limit is well below the two minutes
 * after which the activator no longer trusts an address.
 */
export const silenceLimitMs = 100_000;

/** The interval of the beats of a watch, and so the maximum by which its silence is counted too long. */
export const beatMs = 5_000;

/** A beat that is late by more than this shows that the process stood still. */
export const lateBeatMs = 5_000;

export class SilentWatch extends ApiUnreachable {}

/** After a long pause the server may have forgotten the version, and says so only after it has opened the watch. */
export class OutdatedWatch extends SilentWatch {}

export interface MonitorOptions {
  readonly clock: Clock;
  /** Names the watch in errors. */
  readonly plural: string;
  /** The last moment whose state was received. */
  readonly received: () => ClockReading;
}

/**
 * Ends a watch after too long a silence, after a jump of the clock and after a stand-still of the process. What is read after
 * a stand-still may have waited in the kernel all the time. So the time of a message is that of the last beat: a beat comes
 * after the events that the sockets had, and what is read later came later. While the watch is not read, because too much of it waits to
 * be handled, no beat counts, nor does the first one after that: the rest has to be read from the socket first.
 */
export class WatchMonitor implements Disposable {
  readonly #options: MonitorOptions;
  readonly #ended = new AbortController();
  readonly began: ClockReading;
  #beat: ClockReading;
  #sentSince: ClockReading;
  #isPaused = false;
  /** Whether it was paused at any moment since the last beat. */
  #wasPaused = false;
  #timer: Timer | undefined;

  /** The watch begins now. */
  constructor(options: MonitorOptions) {
    this.#options = options;
    this.began = readClocks(options.clock);
    this.#beat = this.began;
    this.#sentSince = this.began;
    this.#await();
  }

  /** Aborted when the watch has to end. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** The earliest moment at which the server can have sent what is read now. */
  get sentSince(): ClockReading {
    return this.#sentSince;
  }

  /** Whether nothing is read for now. */
  paused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#wasPaused = true;
  }

  endIfJumped(): void {
    const now = readClocks(this.#options.clock);
    if (hasJumped(this.began, now)) this.#end(now, "the clock jumped");
  }

  #await(): void {
    const { clock, plural, received } = this.#options;
    const sinceMs = Math.max(received().ticksMs, this.began.ticksMs);
    const leftMs = sinceMs + silenceLimitMs - this.#beat.ticksMs;
    if (leftMs <= 0)
      return this.#ended.abort(new SilentWatch(`the watch of ${plural} was silent for ${silenceLimitMs / 1_000} s`));
    const waitMs = Math.min(leftMs, beatMs);
    // One timer that re-checks is cheaper than a new timer for every event.
    this.#timer = clock.after(waitMs, () => this.#onBeat(waitMs));
  }

  #onBeat(waitedMs: number): void {
    this.endIfJumped();
    const now = readClocks(this.#options.clock);
    if (now.ticksMs - this.#beat.ticksMs > waitedMs + lateBeatMs) this.#end(now, "the process stood still");
    if (this.#ended.signal.aborted) return;
    this.#beat = now;
    if (!this.#wasPaused) this.#sentSince = now;
    this.#wasPaused = this.#isPaused;
    this.#await();
  }

  #end(now: ClockReading, because: string): void {
    const { plural, received } = this.#options;
    const { wallMs, ticksMs } = received();
    const forMs = Math.max(now.wallMs - wallMs, now.ticksMs - ticksMs);
    const Reason = forMs > silenceLimitMs ? OutdatedWatch : SilentWatch;
    this.#ended.abort(new Reason(`the watch of ${plural} began before ${because}`));
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }
}
