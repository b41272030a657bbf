import type { ErrorCode } from "../../failures/errors-for-clients.ts";
import { StallWatch, watchOf } from "../../pod-connections/stall-watch.ts";

/** The time limits of one exchange. Time runs for the side that owes. */
export class ExchangeLimits extends StallWatch {
  readonly #pauseMs: number;
  /** Of the client within its request; set while the sandbox waits for it. */
  #pause: StallWatch | undefined;
  #sandboxMs = 0;
  #endMs = Number.POSITIVE_INFINITY;

  /** `pauseMs`: the limit for a pause of the client within its request. */
  constructor(pauseMs: number) {
    super();
    this.#pauseMs = pauseMs;
  }

  /** The sandbox must take each byte of the request within `sandboxMs`; before its response, it must also begin that. */
  sandbox(sandboxMs: number, nowMs: number): void {
    this.#sandboxMs = sandboxMs;
    this.limit(sandboxMs, nowMs);
  }

  /** The exchange ends `totalMs` from now; 0: unlimited. */
  total(totalMs: number, nowMs: number): void {
    this.#endMs = totalMs > 0 ? nowMs + totalMs : Number.POSITIVE_INFINITY;
  }

  /** The error of a limit that was reached. `waitsForClient`: the sandbox has taken all that came, and that is not all. */
  late(progress: number, waitsForClient: boolean, nowMs: number): ErrorCode | undefined {
    if (waitsForClient && !this.isPodGone) {
      this.#pause ??= watchOf(this.#pauseMs, nowMs);
      this.limit(this.#sandboxMs, nowMs); // the sandbox's time begins again with the next byte
    } else this.#pause = undefined;
    if (nowMs < this.#endMs && !(this.#pause ?? this).isStalled(progress, nowMs)) return undefined;
    if (this.isPodGone) return "ResponseLost";
    return this.#pause ? "RequestTimedOut" : "SandboxSlow";
  }
}
