import type { Logger } from "../../lib/log/log.ts";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { type RemovalLimits, removalLimits } from "./removal-limits.ts";
import { type Leftover, removeTree } from "./remove-tree.ts";

/** The pause before a folder is tried again that a program still writes into; each further one is twice as long. */
const firstPauseMs = 60_000;
const longestPauseMs = 60 * 60_000;

/**
 * Removes folders of sandboxes in the background, one after the other: a folder with very many files delays nothing else but other
 * removals. If a program still writes into one, the others go first. Disposing stops between two files; the caller finds what is
 * left at the next start.
 */
export class Removals implements AsyncDisposable {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #limits: RemovalLimits;
  readonly #stop = new AbortController();
  #last: Promise<void> = Promise.resolve();

  constructor(log: Logger, clock: Clock, limits: RemovalLimits = removalLimits) {
    this.#log = log;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Resolves after the first try to remove the folder. It never rejects. */
  remove(path: string): Promise<void> {
    return this.#enqueue(path, firstPauseMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("local mode is stopping"));
    await this.#last;
  }

  #enqueue(path: string, pauseMs: number): Promise<void> {
    this.#last = this.#last.then(() => this.#remove(path, pauseMs));
    return this.#last;
  }

  async #remove(path: string, pauseMs: number): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    try {
      const left = await removeTree(path, { signal, clock: this.#clock, limits: this.#limits });
      if (left?.mayGoOn) this.#goOnLater(path, pauseMs, left);
      else if (left) warn(path, left, this.#log);
    } catch (error) {
      if (!signal.aborted)
        this.#log.warn({ err: error, path }, "could not remove a folder; retrying at the next start of local mode");
    }
  }

  #goOnLater(path: string, pauseMs: number, { error: err }: Leftover): void {
    const again = `the removal continues in ${pauseMs / 1_000} s`;
    this.#log.warn({ err, path }, `a folder is not removed yet; a program may still write into it; ${again}`);
    const next = () => void this.#enqueue(path, Math.min(2 * pauseMs, longestPauseMs));
    void this.#clock.sleep(pauseMs, this.#stop.signal).then(next, () => {}); // it rejects when local mode stops
  }
}

/** Removes a folder with all that programs left in it, within the limits of one try. What is left is logged. */
export async function removeOrWarn(path: string, log: Logger): Promise<void> {
  const left = await removeTree(path, { clock: systemClock });
  if (left) warn(path, left, log);
}

function warn(path: string, { error: err, count }: Leftover, log: Logger): void {
  log.warn(
    { err, path, count },
    "could not remove all files of a folder; remove it by hand, as the user who owns them",
  );
}
