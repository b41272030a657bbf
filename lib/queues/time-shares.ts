/** How many groups without a task are remembered. */
const groupsMax = 1_024;

interface Group {
  usedMs: number;
  /** Its tasks that wait or run. */
  tasks: number;
}

/**
 * The time that groups have used of a resource that they share. A group counts from where the least of those with tasks is, so it neither
 * saves time while it has no task, nor pays for the time that it had while nobody else was there. Who has used least comes next:
 * then groups with tasks have equal parts of the time, whatever one of their tasks takes.
 */
export class TimeShares {
  /** In the order in which they last came. */
  readonly #groups = new Map<string, Group>();

  /** A group has one task more, until that is disposed of. */
  enter(name: string): Disposable {
    const known = this.#groups.get(name);
    const group = known ?? { usedMs: 0, tasks: 0 };
    if (group.tasks === 0) {
      const least = this.#least();
      // Nobody waits: what was used before is over.
      if (least === undefined) this.#groups.clear();
      group.usedMs = least === undefined ? 0 : Math.max(group.usedMs, least);
      this.#groups.delete(name);
      this.#groups.set(name, group);
    }
    group.tasks += 1;
    this.#forgetOldest();
    return {
      [Symbol.dispose]() {
        group.tasks -= 1;
      },
    };
  }

  /** Only a group that has a task uses time. */
  spend(name: string, ms: number): void {
    const group = this.#groups.get(name);
    if (group) group.usedMs += ms;
  }

  usedMs(name: string): number {
    return this.#groups.get(name)?.usedMs ?? 0;
  }

  /** The number of remembered groups. */
  get size(): number {
    return this.#groups.size;
  }

  #least(): number | undefined {
    let least: number | undefined;
    for (const { usedMs, tasks } of this.#groups.values()) {
      if (tasks > 0 && (least === undefined || usedMs < least)) least = usedMs;
    }
    return least;
  }

  #forgetOldest(): void {
    if (this.#groups.size <= groupsMax) return;
    for (const [name, { tasks }] of this.#groups) {
      if (tasks > 0) continue;
      this.#groups.delete(name);
      return;
    }
  }
}
