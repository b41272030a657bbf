/** Notices when nothing moves for a while, by looking now and then at a number that changes with what moves. */
export class StallWatch {
  #limitMs = 0;
  #movedMs = 0;
  #seen = -1;

  /** From now on `limitMs` without progress is a stall. 0 means no limit. */
  limit(limitMs: number, nowMs: number): void {
    this.#limitMs = limitMs;
    this.#movedMs = nowMs;
  }

  /** Whether the progress has been the same for longer than the limit. */
  isStalled(progress: number, nowMs: number): boolean {
    if (progress !== this.#seen) {
      this.#seen = progress;
      this.#movedMs = nowMs;
    }
    return this.#limitMs > 0 && nowMs - this.#movedMs >= this.#limitMs;
  }
}
