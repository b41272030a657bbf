import { ActivatorError } from "./errors.ts";

export interface SlotLimits {
  readonly total: number;
  readonly perNamespace: number;
  readonly perSandbox: number;
}

/** Lends places to requests that wait. Full means no, at once: a queue in front of a queue helps nobody. */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** How many are lent now. */
  get total(): number {
    return this.#total;
  }

  /**
   * A place for one request, given back by disposing of it.
   *
   * @throws ActivatorError when the sandbox, its namespace or the replica has no place left.
   */
  admit(namespace: string, name: string): Disposable {
    const keys = [`${namespace}/`, `${namespace}/${name}`] as const;
    const counts = keys.map((key) => this.#held.get(key) ?? 0);
    const [inNamespace = 0, inSandbox = 0] = counts;
    const { total, perNamespace, perSandbox } = this.#limits;
    if (this.#total >= total || inNamespace >= perNamespace || inSandbox >= perSandbox) {
      throw new ActivatorError("HoldLimitReached");
    }
    this.#add(keys, 1);
    let lent = true;
    return {
      [Symbol.dispose]: () => {
        if (lent) this.#add(keys, -1);
        lent = false;
      },
    };
  }

  #add(keys: readonly string[], difference: 1 | -1): void {
    this.#total += difference;
    for (const key of keys) {
      const count = (this.#held.get(key) ?? 0) + difference;
      if (count === 0) this.#held.delete(key);
      else this.#held.set(key, count);
    }
  }
}
