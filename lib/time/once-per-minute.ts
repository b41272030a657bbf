import { ownText } from "../data/own-text.ts";
import type { Clock } from "./clock.ts";

const pauseMs = 60_000;
/**
 * The maximum number of kinds of lines in a minute; further kinds are not logged. It bounds the lines and the memory.
 */
const keysMax = 1_000;

/**
 * Whether to log another line: once a minute for each kind. Lines that clients and tenants can cause repeatedly must
 * not fill the log.
 */
export class OncePerMinute {
  readonly #clock: Clock;
  /** In the order in which they were logged. */
  readonly #loggedMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  asks(key: string): boolean {
    const nowMs = this.#clock.ticksMs();
    for (const [other, loggedMs] of this.#loggedMs) {
      if (nowMs - loggedMs < pauseMs) break;
      this.#loggedMs.delete(other);
    }
    if (this.#loggedMs.has(key) || this.#loggedMs.size >= keysMax) return false;
    this.#loggedMs.set(ownText(key), nowMs);
    return true;
  }
}
