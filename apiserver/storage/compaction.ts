import type { Logger } from "../../lib/log/log.ts";
import { type Backoff, backoffDelayMs } from "../../lib/queues/backoff.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { DataDir } from "./data-dir.ts";
import { isFullDisk } from "./journal-size.ts";
import type { Commit, StorageState } from "./storage.ts";

/** A full disk stays full for a while, and each attempt encodes the whole state. */
const backoff: Backoff = { baseMs: 5_000, maxMs: 300_000, jitter: 0.1 };

const fullDiskLogMs = 60_000;

/**
 * Records commits, and starts a new journal when the old one has grown too long, or the disk is getting full. A failed compaction is
 * logged and retried later: every commit is in the journal already, so no client is affected. The journal grows meanwhile.
 */
export class Compaction {
  readonly #dataDir: Pick<DataDir, "record" | "compactIfDue" | "makeRoom">;
  readonly #clock: Clock;
  readonly #log: Logger;
  #failures = 0;
  #notBeforeMs = 0;
  #nextFullDiskLogMs = Number.NEGATIVE_INFINITY;

  constructor(dataDir: Pick<DataDir, "record" | "compactIfDue" | "makeRoom">, clock: Clock, log: Logger) {
    this.#dataDir = dataDir;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Writes a commit. On a full disk it shortens the journal first, if that makes room. `state` is that before the commit.
   *
   * @throws the system's error; then the commit is not stored.
   */
  record(commit: Commit, state: () => StorageState): void {
    try {
      this.#recordOrMakeRoom(commit, state);
    } catch (err) {
      if (isFullDisk(err)) this.#tellOfFullDisk(err);
      throw err;
    }
  }

  /** Call it after a commit. It never throws. */
  afterCommit(state: () => StorageState): void {
    this.#attempt(() => {
      this.#dataDir.compactIfDue(state);
      return true;
    });
  }

  #recordOrMakeRoom(commit: Commit, state: () => StorageState): void {
    try {
      this.#dataDir.record(commit);
    } catch (error) {
      if (!isFullDisk(error) || !this.#attempt(() => this.#dataDir.makeRoom(state))) throw error;
      this.#dataDir.record(commit);
    }
  }

  /** What the compaction returns; false if it failed, or one has failed a short time ago. */
  #attempt(compact: () => boolean): boolean {
    if (this.#clock.ticksMs() < this.#notBeforeMs) return false;
    try {
      const done = compact();
      this.#failures = 0;
      return done;
    } catch (err) {
      this.#failures += 1;
      const retryMs = backoffDelayMs(this.#failures, backoff);
      this.#notBeforeMs = this.#clock.ticksMs() + retryMs;
      this.#log.error(
        { err, failures: this.#failures, retryMs },
        "could not compact the journal; no commit is lost; retrying",
      );
      return false;
    }
  }

  #tellOfFullDisk(err: unknown): void {
    if (this.#clock.ticksMs() < this.#nextFullDiskLogMs) return;
    this.#nextFullDiskLogMs = this.#clock.ticksMs() + fullDiskLogMs;
    this.#log.error({ err }, "the disk of the data directory is full; the API server rejects writes");
  }
}
