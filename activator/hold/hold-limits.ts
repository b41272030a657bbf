import { ActivatorError } from "../failures/errors-for-clients.ts";

export interface HoldLimitNumbers {
  readonly total: number;
  readonly perNamespace: number;
  readonly perSandbox: number;
}

/** The number of places in use for one sandbox, or for one namespace. */
interface Count {
  readonly name: string;
  lent: number;
}

interface NamespaceCount extends Count {
  readonly sandboxes: Map<string, Count>;
}

/** The shared fraction of the places: see `HoldLimits`. */
const sharedPart = 0.1;

/** The bytes of a request head, or of a raw connection, that one place has room for. More take more places, so places limit memory too. */
const bytesOfPlace = 8_192;

/**
 * Lends places to requests that wait. Without a free place a request is rejected at once: a queue before a queue does not help.
 * A namespace gets one of the last tenth of the places only while it holds fewer than are left, so that namespaces with many
 * held requests leave places for others.
 */
export class HoldLimits {
  readonly #limits: HoldLimitNumbers;
  readonly #namespaces = new Map<string, NamespaceCount>();
  /** The number of shared places. */
  readonly #shared: number;
  #total = 0;

  constructor(limits: HoldLimitNumbers) {
    this.#limits = limits;
    // If one namespace may have all places, none are shared.
    this.#shared = limits.perNamespace < limits.total ? Math.floor(limits.total * sharedPart) : 0;
  }

  /** The number of places in use. */
  get total(): number {
    return this.#total;
  }

  /**
   * Returns the places of one request; dispose of them to give them back. A request of which `headBytes` bytes are kept is
   * admitted if one place is free, and takes as many as these need.
   *
   * @throws ActivatorError if the sandbox, its namespace or the replica has no free place.
   */
  admit(namespace: string, name: string, headBytes = 0): Disposable {
    const inNamespace = this.#namespaces.get(namespace) ?? { name: namespace, lent: 0, sandboxes: new Map() };
    const inSandbox = inNamespace.sandboxes.get(name) ?? { name, lent: 0 };
    const { total, perNamespace, perSandbox } = this.#limits;
    const free = total - this.#total;
    const isShared = free <= this.#shared && inNamespace.lent >= free;
    if (free <= 0 || isShared || inNamespace.lent >= perNamespace || inSandbox.lent >= perSandbox) {
      throw new ActivatorError("HoldLimitReached");
    }
    if (inNamespace.lent === 0) this.#namespaces.set(namespace, inNamespace);
    if (inSandbox.lent === 0) inNamespace.sandboxes.set(name, inSandbox);
    const places = Math.max(Math.ceil(headBytes / bytesOfPlace), 1);
    this.#add(inNamespace, inSandbox, places);
    return new Place(() => this.#giveBack(inNamespace, inSandbox, places));
  }

  #giveBack(inNamespace: NamespaceCount, inSandbox: Count, places: number): void {
    this.#add(inNamespace, inSandbox, -places);
    if (inSandbox.lent === 0) inNamespace.sandboxes.delete(inSandbox.name);
    if (inNamespace.lent === 0) this.#namespaces.delete(inNamespace.name);
  }

  #add(inNamespace: Count, inSandbox: Count, difference: number): void {
    this.#total += difference;
    inNamespace.lent += difference;
    inSandbox.lent += difference;
  }
}

/** The places of one request. They are given back once. */
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
