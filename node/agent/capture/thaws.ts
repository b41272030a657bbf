import type { Runsc } from "../doors/runsc.ts";

/**
 * The thaws in progress. gVisor answers `runsc resume` only when a checkpoint has ended that was begun before, also if the program that
 * asked for it was killed. A second one would then come on top of the first, and end the kernel of the Pod. So each Pod gets one,
 * which is never cut off: it ends with its answer, or with the sentry.
 */
export class Thaws {
  readonly #runsc: Pick<Runsc, "resume">;
  readonly #inProgress = new Map<string, Promise<void>>();

  constructor(runsc: Pick<Runsc, "resume">) {
    this.#runsc = runsc;
  }

  has(sandbox: string): boolean {
    return this.#inProgress.has(sandbox);
  }

  /** When the thaw has ended, however. */
  async ended(sandbox: string): Promise<void> {
    await this.#inProgress.get(sandbox)?.catch(() => {});
  }

  /** Rejects if runsc does. */
  start(sandbox: string): Promise<void> {
    const known = this.#inProgress.get(sandbox);
    if (known) return known;
    const thaw = this.#runsc.resume(sandbox).finally(() => this.#inProgress.delete(sandbox));
    this.#inProgress.set(sandbox, thaw);
    return thaw;
  }
}
