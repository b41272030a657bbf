/** How long a peak is remembered at least, in milliseconds; at most twice as long. */
const windowMs = 5_000;

/** How many requests were in progress at the same time, at most, in the last seconds. */
export class RecentPeak {
  #current = 0;
  #peak = 0;
  #before = 0;
  #endMs = Number.NEGATIVE_INFINITY;

  /** Requests in progress now. */
  get current(): number {
    return this.#current;
  }

  begin(nowMs: number): void {
    this.#turn(nowMs);
    this.#current += 1;
    if (this.#current > this.#peak) this.#peak = this.#current;
  }

  end(): void {
    this.#current -= 1;
  }

  at(nowMs: number): number {
    this.#turn(nowMs);
    return Math.max(this.#peak, this.#before);
  }

  #turn(nowMs: number): void {
    if (nowMs < this.#endMs) return;
    const isNext = nowMs < this.#endMs + windowMs;
    this.#before = isNext ? this.#peak : this.#current;
    this.#peak = this.#current;
    this.#endMs = (isNext ? this.#endMs : nowMs) + windowMs;
  }
}
