import { IdleList, Link } from "./idle-list.ts";

/** A place in a ranking. */
export class Rank<T> extends Link<T> {
  level = 0;
}

/**
 * Members by size, in levels: a size is less than twice any other of its level. So most changes of a size change nothing here, and
 * each takes constant time. Empty members have no level.
 */
export class Ranking<T> {
  readonly #levels: IdleList<T>[] = [];

  /** Its size has changed. */
  move(rank: Rank<T>, size: number): void {
    const level = 32 - Math.clz32(size);
    if (rank.level === level) return;
    rank.level = level;
    rank.leave();
    if (level === 0) return;
    while (this.#levels.length <= level) this.#levels.push(new IdleList<T>());
    this.#levels[level]?.join(rank);
  }

  /** One of those at the highest level; undefined: all are empty. */
  get largest(): T | undefined {
    for (let level = this.#levels.length - 1; level > 0; level -= 1) {
      const oldest = this.#levels[level]?.oldest;
      if (oldest) return oldest.value;
    }
    return undefined;
  }
}
