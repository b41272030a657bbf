/** After its Pod was seen gone, an exchange is cut when no byte has moved for this long, in milliseconds. */
const gonePodStallMs = 5_000;
/** It is cut after this long in any case, in milliseconds: a Pod whose object was force-deleted may still run. */
const gonePodLimitMs = 30_000;

/** A watch that looks at what has stood still rests for this part of that time: it may see later by as much that something moved. */
const restShare = 8;

/** Detects a stall by comparing a progress counter from time to time. */
export class StallWatch {
  #limitMs = 0;
  #movedMs = 0;
  #seen = -1;
  #endMs = Number.POSITIVE_INFINITY;
  #isPodGone = false;

  /** Whether the Pod at the far end was seen gone. */
  get isPodGone(): boolean {
    return this.#isPodGone;
  }

  /** The rest of the Pod's data is forwarded. Its end may never arrive, as from a lost node, so the limits are short from now on. */
  podGone(nowMs: number): void {
    if (this.#isPodGone) return;
    this.#isPodGone = true;
    this.#endMs = nowMs + gonePodLimitMs;
    const isSooner = this.#limitMs > 0 && this.#movedMs + this.#limitMs <= nowMs + gonePodStallMs;
    if (!isSooner) this.limit(gonePodStallMs, nowMs);
  }

  /** From now on `limitMs` without progress is a stall. 0: unlimited. */
  limit(limitMs: number, nowMs: number): void {
    const isLong = limitMs <= 0 || limitMs > gonePodStallMs;
    this.#limitMs = this.#isPodGone && isLong ? gonePodStallMs : limitMs;
    this.#movedMs = nowMs;
  }

  /** After a look: when the next one is due. */
  nextLookMs(nowMs: number): number {
    if (this.#limitMs <= 0) return this.#endMs;
    const lookMs = nowMs + (nowMs - this.#movedMs) / restShare;
    return Math.min(lookMs, this.#movedMs + this.#limitMs, this.#endMs);
  }

  /** Whether the progress has not changed for longer than the limit. */
  isStalled(progress: number, nowMs: number): boolean {
    if (progress !== this.#seen) {
      this.#seen = progress;
      this.#movedMs = nowMs;
    }
    if (nowMs >= this.#endMs) return true;
    return this.#limitMs > 0 && nowMs - this.#movedMs >= this.#limitMs;
  }
}

/** A watch that begins now. */
export function watchOf(limitMs: number, nowMs: number): StallWatch {
  const watch = new StallWatch();
  watch.limit(limitMs, nowMs);
  return watch;
}
