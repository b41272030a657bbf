import { ActivatorError } from "./errors.ts";

export interface SlotLimits {
  readonly total: number;
  readonly perNamespace: number;
  readonly perSandbox: number;
}

/** How many places are lent for one sandbox, or for all of one namespace. */
interface Count {
  readonly name: string;
  lent: number;
}

interface NamespaceCount extends Count {
  readonly sandboxes: Map<string, Count>;
}

/** Lends places to requests that wait. Full means no, at once: a queue in front of a queue helps nobody. */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #namespaces = new Map<string, NamespaceCount>();
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
    const inNamespace = this.#namespaces.get(namespace) ?? { name: namespace, lent: 0, sandboxes: new Map() };
    const inSandbox = inNamespace.sandboxes.get(name) ?? { name, lent: 0 };
    const { total, perNamespace, perSandbox } = this.#limits;
    if (this.#total >= total || inNamespace.lent >= perNamespace || inSandbox.lent >= perSandbox) {
      throw new ActivatorError("HoldLimitReached");
    }
    if (inNamespace.lent === 0) this.#namespaces.set(namespace, inNamespace);
    if (inSandbox.lent === 0) inNamespace.sandboxes.set(name, inSandbox);
    this.#add(inNamespace, inSandbox, 1);
    return new Place(() => this.#giveBack(inNamespace, inSandbox));
  }

  #giveBack(inNamespace: NamespaceCount, inSandbox: Count): void {
    this.#add(inNamespace, inSandbox, -1);
    if (inSandbox.lent === 0) inNamespace.sandboxes.delete(inSandbox.name);
    if (inNamespace.lent === 0) this.#namespaces.delete(inNamespace.name);
  }

  #add(inNamespace: Count, inSandbox: Count, difference: 1 | -1): void {
    this.#total += difference;
    inNamespace.lent += difference;
    inSandbox.lent += difference;
  }
}

/** One place, which is given back once. */
class Place implements Disposable {
  #giveBack: (() => void) | undefined;

  constructor(giveBack: () => void) {
    this.#giveBack = giveBack;
  }

  [Symbol.dispose](): void {
    const giveBack = this.#giveBack;
    this.#giveBack = undefined;
    giveBack?.();
  }
}
