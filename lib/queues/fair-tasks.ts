export interface FairTasksLimits {
  /** The maximum number of concurrent tasks. */
  readonly max: number;
  /** The maximum of one group. */
  readonly maxOfGroup: number;
  /** Groups that have used more than their share. They come after all others, and have a maximum in common. */
  readonly heavy?: { readonly is: (group: string) => boolean; readonly max: number };
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
    const { heavy } = this.#limits;
    const isHeavy = (group: string) => heavy?.is(group) === true;
    this.#startFrom(
      (group) => !isHeavy(group),
      () => true,
    );
    if (heavy) this.#startFrom(isHeavy, () => this.#runningOfGroups(isHeavy) < heavy.max);
  }

  #startFrom(mayStart: (group: string) => boolean, hasRoom: () => boolean): void {
    for (const [group, waiting] of [...this.#waiting]) {
      if (this.#running.size >= this.#limits.max || !hasRoom()) return;
      if (!mayStart(group)) continue;
      const [next] = waiting;
      if (!next || this.#of(group) >= this.#limits.maxOfGroup) continue;
      const [key, task] = next;
      this.drop(group, key);
      // Its next task waits for a turn of all others.
      if (this.#waiting.delete(group)) this.#waiting.set(group, waiting);
      this.#start(group, key, task);
    }
  }

  #start(group: string, key: string, task: Task): void {
    this.#running.add(key);
    this.#runningOf.set(group, this.#of(group) + 1);
    const over = () => {
      this.#running.delete(key);
      const left = this.#of(group) - 1;
      if (left > 0) this.#runningOf.set(group, left);
      else this.#runningOf.delete(group);
      this.#dispatch();
    };
    task().then(over, over);
  }

  #runningOfGroups(are: (group: string) => boolean): number {
    let count = 0;
    for (const [group, running] of this.#runningOf) if (are(group)) count += running;
    return count;
  }

  #of(group: string): number {
    return this.#runningOf.get(group) ?? 0;
  }
}
