/** Consecutive failures of each key, and the number of failing keys: in total, and in each group. */
export class FailureCounts {
  readonly #groupOf: (key: string) => string;
  readonly #failures = new Map<string, number>();
  readonly #failing = new Map<string, number>();

  constructor(groupOf: (key: string) => string) {
    this.#groupOf = groupOf;
  }

  /** The number of failing keys. */
  get size(): number {
    return this.#failures.size;
  }

  /** The number of failing keys in this one's group. */
  inGroupOf(key: string): number {
    return this.#failing.get(this.#groupOf(key)) ?? 0;
  }

  of(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Returns the key's consecutive failures, including this one. */
  add(key: string): number {
    const failures = this.of(key) + 1;
    this.#failures.set(key, failures);
    if (failures === 1) this.#failing.set(this.#groupOf(key), this.inGroupOf(key) + 1);
    return failures;
  }

  delete(key: string): void {
    if (!this.#failures.delete(key)) return;
    const left = this.inGroupOf(key) - 1;
    if (left > 0) this.#failing.set(this.#groupOf(key), left);
    else this.#failing.delete(this.#groupOf(key));
  }
}
