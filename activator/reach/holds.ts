import type { Clock } from "../../lib/clock.ts";
import { ActivatorError } from "../errors.ts";
import { ClientGone } from "../request.ts";

/** One request that waits. Its signal is aborted with the reason that ends the wait. */
export interface Hold extends Disposable {
  readonly signal: AbortSignal;
}

/** All requests that wait now. */
export class Holds {
  readonly #clock: Clock;
  readonly #running = new Set<AbortController>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a wait of at most `limitMs`; `onLimit` says what the client is told then. */
  begin({ gone }: { readonly gone: AbortSignal }, limitMs: number, onLimit: () => ActivatorError): Hold {
    const end = new AbortController();
    const leave = () => end.abort(new ClientGone("the client left"));
    const timer = this.#clock.after(limitMs, () => end.abort(onLimit()));
    gone.addEventListener("abort", leave, { once: true });
    if (gone.aborted) leave();
    this.#running.add(end);
    return {
      signal: end.signal,
      [Symbol.dispose]: () => {
        timer.cancel();
        gone.removeEventListener("abort", leave);
        this.#running.delete(end);
      },
    };
  }

  /** Ends every wait: this replica leaves. Nothing was sent, so another may be asked. */
  endAll(): void {
    for (const end of this.#running) end.abort(new ActivatorError("Draining"));
  }
}

/**
 * How long a request may be held, in milliseconds since its head: the least of what the sandbox, the client and we
 * allow, less a margin (of a short time at most half), so that the answer is ours and arrives while the client still
 * listens.
 */
export function holdLimitMs(...allowedMs: readonly (number | undefined)[]): number {
  const budgetMs = Math.min(...allowedMs.filter((each) => each !== undefined));
  return budgetMs - Math.min(Math.max(1_000, budgetMs * 0.05), budgetMs / 2);
}
