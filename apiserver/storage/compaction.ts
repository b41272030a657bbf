import type { Logger } from "../../lib/log/log.ts";
import { type Backoff, backoffDelayMs } from "../../lib/queues/backoff.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { DataDir } from "./data-dir.ts";
import type { StorageState } from "./storage.ts";

/** A full disk stays full for a while, and each attempt encodes the whole state. */
const backoff: Backoff = { baseMs: 5_000, maxMs: 300_000, jitter: 0.1 };

/**
 * Starts a new journal when the old one has grown too long. A failure is logged and retried later: every commit is in
 * the journal already, so no client is affected. The journal grows meanwhile.
 */
export class Compaction {
  readonly #dataDir: Pick<DataDir, "compactIfDue">;
  readonly #clock: Clock;
  readonly #log: Logger;
  #failures = 0;
  #notBeforeMs = 0;

  constructor(dataDir: Pick<DataDir, "compactIfDue">, clock: Clock, log: Logger) {
    this.#dataDir = dataDir;
    this.#clock = clock;
    this.#log = log;
  }

  /** Call it after a commit. It never throws. */
  afterCommit(state: () => StorageState): void {
    if (this.#clock.ticksMs() < this.#notBeforeMs) return;
    try {
      this.#dataDir.compactIfDue(state);
      this.#failures = 0;
    } catch (err) {
      this.#failures += 1;
      const retryMs = backoffDelayMs(this.#failures, backoff);
      this.#notBeforeMs = this.#clock.ticksMs() + retryMs;
      this.#log.error({ err, failures: this.#failures, retryMs }, "could not compact the journal");
    }
  }
}
