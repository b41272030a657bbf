import type { Clock } from "../../lib/time/clock.ts";
import { nextTurn } from "../../lib/time/yielding.ts";

/** The time in a turn of the event loop in which watches handle events, in milliseconds. */
const sliceMs = 10;
/** They handle at least so many bytes in a turn: in a process that gets little processor time, the 10 ms may pass before the first event. */
const sliceBytesMin = 64 * 1024;

/**
 * A burst of events must not keep timers and sockets from their turn. All watches of a client share one slice of each turn of the event
 * loop. Those that have more to handle go on in the next turn, in the order in which they began to wait.
 */
export class WatchSlices {
  readonly #clock: Clock;
  #beganMs: number;
  #bytes = 0;
  #next: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.ticksMs();
  }

  /**
   * Whether the next event has to wait for a later turn. A slice begins only after a wait, so that few events cost no turn of their own: the
   * first wait after a calm may come after the least number of bytes.
   */
  get isOver(): boolean {
    return this.#bytes >= sliceBytesMin && this.#clock.ticksMs() - this.#beganMs >= sliceMs;
  }

  /** An event of this length is handled now. */
  handles(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Resolves in the next turn of the event loop. Another watch may use up its slice first, so look at `isOver` again. */
  rest(): Promise<void> {
    this.#next ??= nextTurn().then(() => this.#begin());
    return this.#next;
  }

  #begin(): void {
    this.#next = undefined;
    this.#bytes = 0;
    this.#beganMs = this.#clock.ticksMs();
  }
}
