export interface FairTasksLimits {
  /** The maximum number of concurrent tasks. */
  readonly max: number;
  /** The maximum of one group. */
  readonly maxOfGroup: number;
  /** What a group has used. Those that have used least come first; absent, or if equal: they take turns. */
  readonly usedBy?: (group: string) => number;
  /** Groups of a lower rank come first, whatever they have used; absent: all have the same. */
  readonly rankOf?: (group: string) => number;
}

type Task = () => Promise<void>;

/** Runs tasks of several groups with limited concurrency; waiting tasks of the groups take turns. */
export class FairTasks {
  readonly #limits: FairTasksLimits;
  /** By group, in the order of their turns, and by key, in the order in which they came. */
  readonly #waiting = new Map<string, Map<string, Task>>();
  readonly #runningOf = new Map<string, number>();
  readonly #running = new Set<string>();

  constructor(limits: FairTasksLimits) {
    this.#limits = limits;
  }

  /** The number of running tasks. */
  get running(): number {
    return this.#running.size;
  }

  /** Runs the task in its turn, unless one with this key waits or runs already. A rejected task is finished. */
  add(group: string, key: string, task: Task): void {
    const waiting = this.#waiting.get(group);
    if (this.#running.has(key) || waiting?.has(key)) return;
    if (waiting) waiting.set(key, task);
    else this.#waiting.set(group, new Map([[key, task]]));
    this.#dispatch();
  }

  /** Removes the waiting task of a key; a running one goes on. */
  drop(group: string, key: string): void {
    const waiting = this.#waiting.get(group);
    if (waiting?.delete(key) && waiting.size === 0) this.#waiting.delete(group);
  }

  #dispatch(): void {
    while (this.#running.size < this.#limits.max) {
      const group = this.#next();
      if (group === undefined) return;
      const waiting = this.#waiting.get(group) ?? new Map<string, Task>();
      const [next] = waiting;
      if (!next) return;
      const [key, task] = next;
      this.drop(group, key);
      // Its next task waits for a turn of all others.
      if (this.#waiting.delete(group)) this.#waiting.set(group, waiting);
      this.#start(group, key, task);
    }
  }

  /** The group whose turn it is: of those that may run another task, have the lowest rank and have used least, the first. */
  #next(): string | undefined {
    const { maxOfGroup, usedBy = () => 0, rankOf = () => 0 } = this.#limits;
    let next: { readonly group: string; readonly rank: number; readonly used: number } | undefined;
    for (const group of this.#waiting.keys()) {
      if (this.#of(group) >= maxOfGroup) continue;
      const [rank, used] = [rankOf(group), usedBy(group)];
      if (!next || rank < next.rank || (rank === next.rank && used < next.used)) next = { group, rank, used };
    }
    return next?.group;
  }

  #start(group: string, key: string, task: Task): void {
    this.#running.add(key);
    this.#runningOf.set(group, this.#of(group) + 1);
    const over = () => {
      this.#running.delete(key);
      const left = this.#of(group) - 1;
      if (left > 0) this.#runningOf.set(group, left);
      else this.#served(group);
      this.#dispatch();
    };
    task().then(over, over);
  }

  /** None of its tasks runs any more. Groups that came while one ran go before its next one. */
  #served(group: string): void {
    this.#runningOf.delete(group);
    const waiting = this.#waiting.get(group);
    if (waiting && this.#waiting.delete(group)) this.#waiting.set(group, waiting);
  }

  #of(group: string): number {
    return this.#runningOf.get(group) ?? 0;
  }
}
