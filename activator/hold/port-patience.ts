import { isSamePlace, type Place, placeOf } from "../pod-connections/place.ts";
import type { Target } from "../sandbox/resolve.ts";

/**
 * How long the requests of one hold wait for a closed port. On a Pod that is no longer young, it is probably the wrong port: each
 * request waits for the time of the retries, and until a whole attempt has failed that began after the request came.
 */
export class PortPatience {
  readonly #retryMs: number;
  #place: Place | undefined;
  /** The first sight of the Pod as no longer young, in monotonic milliseconds; undefined while it is young. */
  #oldSinceMs: number | undefined;
  /** The beginning of the last attempt that failed, in monotonic milliseconds. */
  #failedMs = Number.NEGATIVE_INFINITY;

  constructor(retryMs: number) {
    this.#retryMs = retryMs;
  }

  /** The target as it is now. */
  seen(target: Target, nowMs: number): void {
    const { young } = target;
    if (!this.#place || !isSamePlace(target, this.#place)) {
      this.#failedMs = Number.NEGATIVE_INFINITY;
      this.#oldSinceMs = undefined;
    }
    this.#place = placeOf(target);
    this.#oldSinceMs = young ? undefined : (this.#oldSinceMs ?? nowMs);
  }

  attemptFailed(beganMs: number): void {
    this.#failedMs = beganMs;
  }

  /**
   * The milliseconds until a request that came at `sinceMs` must be rejected; infinite while only an attempt that fails can end its
   * wait, or a Pod that grows old.
   */
  leftMs({ sinceMs }: { readonly sinceMs: number }, nowMs: number): number {
    const timeLeftMs = this.#timeLeftMs(sinceMs, nowMs);
    return timeLeftMs > 0 || this.#failedMs >= sinceMs ? timeLeftMs : Number.POSITIVE_INFINITY;
  }

  /** Whether that request waits for nothing but an attempt. */
  awaitsAttempt({ sinceMs }: { readonly sinceMs: number }, nowMs: number): boolean {
    return this.#timeLeftMs(sinceMs, nowMs) <= 0;
  }

  #timeLeftMs(sinceMs: number, nowMs: number): number {
    if (this.#oldSinceMs === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(this.#oldSinceMs, sinceMs) + this.#retryMs - nowMs;
  }
}
