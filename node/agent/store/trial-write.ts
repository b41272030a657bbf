import { join } from "node:path";
import type { Clock } from "../../../lib/time/clock.ts";
import type { Files } from "../doors/files.ts";

/** `Full`: also a disk that has bytes left, and no file. */
export type Trial = "Writable" | "ReadOnly" | "Full";

/** Preflights of all Pods ask. */
const keepMs = 5_000;

const readOnly: readonly unknown[] = ["EROFS", "EACCES", "EPERM", "EIO"];
const full: readonly unknown[] = ["ENOSPC", "EDQUOT"];

/** Tries whether the store takes a new file. A kernel makes a disk with errors read-only, and nothing else tells. */
export class TrialWrite {
  readonly #path: string;
  readonly #files: Pick<Files, "tryWrite">;
  readonly #clock: Pick<Clock, "ticksMs">;
  #last: { readonly trial: Promise<Trial>; readonly atMs: number } | undefined;

  constructor(root: string, files: Pick<Files, "tryWrite">, clock: Pick<Clock, "ticksMs">) {
    this.#path = join(root, "trial");
    this.#files = files;
    this.#clock = clock;
  }

  /** What was found in the last seconds counts. Rejects for an error that says nothing about the disk. */
  async result(): Promise<Trial> {
    const nowMs = this.#clock.ticksMs();
    if (this.#last && nowMs - this.#last.atMs < keepMs) return this.#last.trial;
    return this.again();
  }

  async again(): Promise<Trial> {
    const before = this.#last?.trial.catch(() => {});
    const last = { trial: this.#try(before), atMs: this.#clock.ticksMs() };
    this.#last = last;
    return last.trial.catch((error: unknown) => {
      if (this.#last === last) this.#last = undefined;
      throw error;
    });
  }

  /** One at a time: all write the same file. */
  async #try(before: Promise<unknown> | undefined): Promise<Trial> {
    await before;
    try {
      await this.#files.tryWrite(this.#path);
      return "Writable";
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (readOnly.includes(code)) return "ReadOnly";
      if (full.includes(code)) return "Full";
      throw error;
    }
  }
}
