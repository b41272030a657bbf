import type { Condition } from "../../../api/kinds/meta.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { type Backoff, backoffDelayMs } from "../../../lib/queues/backoff.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { semanticallyEqual } from "../../semantic-equality.ts";

/** How long another text for the same error may be deferred: longer each time. */
const textBackoff: Backoff = { baseMs: 5_000, maxMs: 600_000, jitter: 0 };

/** Of a Sandbox or of a claim. */
type Status = { readonly conditions?: readonly Condition[] | undefined };

type ReadyText = Pick<Condition, "reason" | "message">;

interface Text {
  /** The number of texts that were written for this error. */
  readonly written: number;
  readonly deferredSinceMs: number | undefined;
}

/**
 * Defers a status that only has another text for the same error. A text can differ each time, as with the id of a request. Each retry would
 * then cost a write and an event.
 */
export class ErrorTexts {
  readonly #clock: Clock;
  readonly #expired: ReadyText;
  readonly #texts = new Map<string, Text>();

  /** `expired`: the Ready condition of an expiry that goes well. Its reason with another text is an error. */
  constructor(clock: Clock, expired: ReadyText) {
    this.#clock = clock;
    this.#expired = expired;
  }

  /** Milliseconds for which a status may be deferred; undefined: it may be written now. */
  deferMs(key: string, before: Status | undefined, after: Status): number | undefined {
    const nowMs = this.#clock.ticksMs();
    const change = this.#changeOf(before, after);
    if (change === "other") {
      this.#texts.delete(key);
      return undefined;
    }
    const { written = 0, deferredSinceMs = nowMs } = this.#texts.get(key) ?? {};
    const leftMs = deferredSinceMs + backoffDelayMs(written + 1, textBackoff) - nowMs;
    const isDue = change === "text" && leftMs <= 0;
    const isDeferred = change === "text" && !isDue;
    this.#texts.set(key, {
      written: isDue ? written + 1 : written,
      deferredSinceMs: isDeferred ? deferredSinceMs : undefined,
    });
    return isDeferred ? leftMs : undefined;
  }

  forget(key: string): void {
    this.#texts.delete(key);
  }

  /** `none` and `text`: it is the same error as before. */
  #changeOf(before: Status | undefined, after: Status): "none" | "text" | "other" {
    if (!this.#isError(before) || !this.#isError(after)) return "other";
    if (!semanticallyEqual(withoutTexts(before), withoutTexts(after))) return "other";
    return semanticallyEqual(before, after) ? "none" : "text";
  }

  #isError(status: Status | undefined): boolean {
    const ready = findCondition(status?.conditions, "Ready");
    if (ready?.reason === this.#expired.reason) return ready.message !== this.#expired.message;
    return ready?.reason === "ReconcilerError" || ready?.reason === "InvalidConfiguration";
  }
}

const withoutTexts = (status: Status | undefined): Status => ({
  ...status,
  conditions: status?.conditions?.map((condition) => ({ ...condition, message: "" })),
});
