/**
 * Waiting keys, such as `namespace/name`. The part before the first slash is a group, and the groups take turns: a key
 * waits for at most one key of each other group, not for all of them. In a group the oldest key comes first.
 */
export class FairKeys {
  /** In the order of the groups' turns; in a group, the order in which the keys came. */
  readonly #groups = new Map<string, Set<string>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: string): boolean {
    return this.#groups.get(groupOf(key))?.has(key) === true;
  }

  /** A waiting key keeps its place. */
  add(key: string): void {
    if (this.has(key)) return;
    const group = groupOf(key);
    const keys = this.#groups.get(group);
    if (keys) keys.add(key);
    else this.#groups.set(group, new Set([key]));
    this.#size += 1;
  }

  /** Removes a waiting key; its group keeps its turn. */
  delete(key: string): void {
    const group = groupOf(key);
    const keys = this.#groups.get(group);
    if (!keys?.delete(key)) return;
    this.#size -= 1;
    if (keys.size === 0) this.#groups.delete(group);
  }

  /**
   * Removes and returns the next key of the groups that may have one; undefined if none of them waits. The next key of its
   * group comes after one of each other group. A group that may have none keeps its turn.
   */
  take(mayTake: (group: string) => boolean = () => true): string | undefined {
    for (const [group, keys] of this.#groups) {
      if (!mayTake(group)) continue;
      for (const key of keys) {
        this.delete(key);
        // To the end of the queue of groups, if it has more.
        if (this.#groups.delete(group)) this.#groups.set(group, keys);
        return key;
      }
    }
    return undefined;
  }

  clear(): void {
    this.#groups.clear();
    this.#size = 0;
  }
}

/** The part of a key before the first slash, such as the namespace; empty if it has none. */
export const groupOf = (key: string): string => key.slice(0, Math.max(key.indexOf("/"), 0));
