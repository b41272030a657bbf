import { FairTasks, type FairTasksLimits } from "../../lib/queues/fair-tasks.ts";
import { KeyCounts } from "../../lib/queues/key-counts.ts";
import type { Clock } from "../../lib/time/clock.ts";

export interface QuestionLineOptions {
  readonly clock: Clock;
  /** How many questions are open at a time, in all and of one owner. */
  readonly open: FairTasksLimits;
  /** How many wait. An owner gets a place only while it has fewer than are left, so one owner has half of them at most. */
  readonly waitingMax: number;
  /** How long a question waits for its turn, in milliseconds. */
  readonly waitMs: number;
}

/** Questions of several owners, who take turns. */
export class QuestionLine {
  readonly #options: QuestionLineOptions;
  readonly #tasks: FairTasks;
  readonly #waitingOf = new KeyCounts();
  #waiting = 0;
  #added = 0;

  constructor(options: QuestionLineOptions) {
    this.#options = options;
    this.#tasks = new FairTasks(options.open);
  }

  hasRoom(owner: string): boolean {
    return this.#waitingOf.of(owner) < this.#options.waitingMax - this.#waiting;
  }

  /** What `ask` answers; undefined if its turn did not come in time. `ask` never rejects. */
  run<A>(owner: string, ask: () => Promise<A>): Promise<A | undefined> {
    const { clock, waitMs } = this.#options;
    const { promise, resolve } = Promise.withResolvers<A | undefined>();
    this.#added += 1;
    const key = `${this.#added}`;
    let limit: Disposable | undefined;
    let waits = true;
    const leave = () => {
      waits = false;
      this.#waiting -= 1;
      this.#waitingOf.remove(owner);
      limit?.[Symbol.dispose]();
    };
    this.#waiting += 1;
    this.#waitingOf.add(owner);
    this.#tasks.add(owner, key, async () => {
      leave();
      resolve(await ask());
    });
    if (!waits) return promise;
    limit = clock.after(waitMs, () => {
      this.#tasks.drop(owner, key);
      leave();
      resolve(undefined);
    });
    return promise;
  }
}
