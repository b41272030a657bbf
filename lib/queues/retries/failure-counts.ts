/** Consecutive failures of each key, and the number of failing keys: in each group, and in all groups together. */
export class FailureCounts {
  readonly #groupOf: (key: string) => string;
  readonly #failures = new Map<string, number>();
  readonly #failing = new Map<string, number>();
  /** The sum over all groups for the last `groupMax`, kept up to date: a search at each failure would be slow. */
  #capped = { groupMax: 0, size: 0 };

  constructor(groupOf: (key: string) => string) {
    this.#groupOf = groupOf;
  }

  /** The number of failing keys in this one's group. */
  inGroupOf(key: string): number {
    return this.#failing.get(this.#groupOf(key)) ?? 0;
  }

  /** The number of failing keys, of which each group counts at most `groupMax`. Fast while `groupMax` is the same. */
  inAllGroups(groupMax: number): number {
    if (this.#capped.groupMax !== groupMax) {
      const counts = [...this.#failing.values()].map((count) => Math.min(count, groupMax));
      this.#capped = { groupMax, size: counts.reduce((sum, count) => sum + count, 0) };
    }
    return this.#capped.size;
  }

  of(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Returns the key's consecutive failures, including this one. */
  add(key: string): number {
    const failures = this.of(key) + 1;
    this.#failures.set(key, failures);
    if (failures === 1) {
      const failing = this.inGroupOf(key) + 1;
      this.#failing.set(this.#groupOf(key), failing);
      if (failing <= this.#capped.groupMax) this.#capped.size += 1;
    }
    return failures;
  }

  delete(key: string): void {
    if (!this.#failures.delete(key)) return;
    const left = this.inGroupOf(key) - 1;
    if (left > 0) this.#failing.set(this.#groupOf(key), left);
    else this.#failing.delete(this.#groupOf(key));
    if (left < this.#capped.groupMax) this.#capped.size -= 1;
  }
}
