/** `urgent`: somebody waits for the answer. `ordinary`: it only has to be done. */
export type Lane = "urgent" | "ordinary";

/** How many ordinary calls are under way while urgent ones are: what only has to be done is slowed down, never stopped. */
const besideUrgent = 4;

interface Waiting {
  readonly admit: () => void;
}

/**
 * Lets so many calls be under way at a time, the urgent ones first, each lane in the order in which it was entered. A server
 * that is busy with what nobody waits for keeps waiting whoever does.
 */
export class CallLanes {
  readonly #width: number;
  readonly #underWay = { urgent: 0, ordinary: 0 };
  readonly #waiting = { urgent: new Set<Waiting>(), ordinary: new Set<Waiting>() };

  constructor(width: number) {
    this.#width = width;
  }

  /** Resolves once the call may be sent; disposing of what it resolves with lets the next one go. Rejects with the signal's reason. */
  async enter(lane: Lane, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#waiting[lane].size === 0 && this.#mayPass(lane)) this.#underWay[lane] += 1;
    else await this.#wait(lane, signal);
    return {
      [Symbol.dispose]: () => {
        this.#underWay[lane] -= 1;
        this.#admitWaiting();
      },
    };
  }

  #wait(lane: Lane, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting[lane].delete(waiting);
        reject(signal.reason);
        this.#admitWaiting(); // nobody urgent may be left
      };
      const waiting: Waiting = {
        admit: () => {
          signal.removeEventListener("abort", leave);
          this.#waiting[lane].delete(waiting);
          this.#underWay[lane] += 1;
          resolve();
        },
      };
      this.#waiting[lane].add(waiting);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #admitWaiting(): void {
    for (const lane of ["urgent", "ordinary"] as const) {
      for (const waiting of this.#waiting[lane]) {
        if (!this.#mayPass(lane)) break;
        waiting.admit();
      }
    }
  }

  #mayPass(lane: Lane): boolean {
    const { urgent, ordinary } = this.#underWay;
    if (urgent + ordinary >= this.#width) return false;
    return lane === "urgent" || urgent + this.#waiting.urgent.size === 0 || ordinary < besideUrgent;
  }
}
