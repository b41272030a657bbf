import type { Stored } from "../../api/kinds/meta.ts";
import { runGuarded } from "../../lib/guard/guard.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import type { Wake, Waker } from "../wake/waker.ts";

export interface HoldWakeParts {
  readonly waker: Pick<Waker, "wake">;
  /** Aborts when no request waits any more. */
  readonly signal: AbortSignal;
  /** Called with the outcome of each wake. */
  readonly onWoke: (wake: Wake, sandbox: Stored<SlimSandbox>) => void;
  /** Called when a wake is over: the sandbox must be resolved again. */
  readonly onOver: () => void;
}

/**
 * The wake of the sandbox that one hold waits for. Nothing awaits it: something else may wake the sandbox, or delete it, before
 * the API server answers, and the hold acts on that at once.
 */
export class HoldWake {
  readonly #parts: HoldWakeParts;
  #isAsked = false;
  /** The resourceVersion whose wake succeeded; until the watch shows a newer one, no wake is sent. */
  #answeredVersion: string | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(parts: HoldWakeParts) {
    this.#parts = parts;
  }

  /**
   * The sandbox is seen asleep: asks for its wake, if it is not asked for yet. Returns what to wait for.
   *
   * @throws ActivatorError if the last wake failed.
   */
  seenAsleep(sandbox: Stored<SlimSandbox>): string {
    if (this.#failure) throw this.#failure.error;
    if (!this.#isAsked && sandbox.metadata.resourceVersion !== this.#answeredVersion) this.#ask(sandbox);
    return this.#isAsked ? "the API server to take the wake" : "the activator's watch to show the wake";
  }

  /** A wake that failed until now does not matter. */
  seenAwake(): void {
    this.#failure = undefined;
  }

  #ask(sandbox: Stored<SlimSandbox>): void {
    this.#isAsked = true;
    runGuarded("wake", async () => {
      const { waker, signal, onWoke, onOver } = this.#parts;
      try {
        const wake = await waker.wake(sandbox, signal);
        this.#answeredVersion = sandbox.metadata.resourceVersion;
        onWoke(wake, sandbox);
      } catch (error) {
        this.#failure = { error };
      }
      this.#isAsked = false;
      onOver();
    });
  }
}
