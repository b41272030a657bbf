interface Group<T> {
  /** These come before the others of their group. */
  readonly urgent: Set<T>;
  readonly others: Set<T>;
}

/**
 * Waiting items of several groups, such as namespaces. The groups take turns: an item waits for at most one item of each
 * other group for each item of its own group before it. In a group, urgent items come first, then the oldest.
 */
export class FairLine<T> {
  /** In the order of their turns. */
  readonly #groups = new Map<string, Group<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(group: string, item: T, isUrgent = false): void {
    const items = this.#groups.get(group) ?? { urgent: new Set(), others: new Set() };
    this.#groups.set(group, items);
    (isUrgent ? items.urgent : items.others).add(item);
    this.#size += 1;
  }

  /** Removes a waiting item; its group keeps its turn. */
  delete(group: string, item: T): void {
    const items = this.#groups.get(group);
    if (!items || !(items.urgent.delete(item) || items.others.delete(item))) return;
    this.#size -= 1;
    if (isEmpty(items)) this.#groups.delete(group);
  }

  /** The next item of each group, in the order of their turns. */
  *heads(): Generator<T> {
    for (const items of this.#groups.values()) yield* headOf(items);
  }

  /**
   * Removes and returns the next item of the groups that may have one; undefined if none of them waits. A group that may have
   * none keeps its turn.
   */
  take(mayTake: (group: string) => boolean = () => true): T | undefined {
    for (const [group, items] of this.#groups) {
      if (!mayTake(group)) continue;
      for (const item of headOf(items)) {
        this.delete(group, item);
        // To the end of the queue of groups, if it has more.
        if (this.#groups.delete(group)) this.#groups.set(group, items);
        return item;
      }
    }
    return undefined;
  }
}

const isEmpty = ({ urgent, others }: Group<unknown>) => urgent.size + others.size === 0;

/** The next item of a group, or nothing. */
function* headOf<T>({ urgent, others }: Group<T>): Generator<T> {
  for (const item of urgent.size > 0 ? urgent : others) return yield item;
}
