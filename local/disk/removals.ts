import type { Logger } from "../../lib/log/log.ts";
import { removeTree } from "./remove-tree.ts";

/**
 * Removes folders of sandboxes in the background, one after the other: a folder with very many files delays nothing else. Disposing stops
 * between two files; the caller finds what is left at the next start.
 */
export class Removals implements AsyncDisposable {
  readonly #log: Logger;
  readonly #stop = new AbortController();
  #last: Promise<void> = Promise.resolve();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Resolves once the folder is removed, or could not be. It never rejects. */
  remove(path: string): Promise<void> {
    this.#last = this.#last.then(() => this.#remove(path));
    return this.#last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("local mode is stopping"));
    await this.#last;
  }

  async #remove(path: string): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    try {
      await removeOrWarn(path, this.#log, signal);
    } catch (error) {
      if (!signal.aborted) this.#log.warn({ err: error, path }, "could not remove a folder of a sandbox");
    }
  }
}

/** Removes a folder with all that programs left in it. What cannot be removed is logged. */
export async function removeOrWarn(path: string, log: Logger, signal?: AbortSignal): Promise<void> {
  const left = await removeTree(path, signal);
  if (!left) return;
  const { error: err, count } = left;
  log.warn(
    { err, path, count },
    "could not remove all files of a folder; remove it by hand, as the user who owns them",
  );
}
