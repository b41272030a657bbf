import { ActivatorError } from "../failures/errors-for-clients.ts";

export interface HoldLimitNumbers {
  readonly total: number;
  readonly perNamespace: number;
  readonly perSandbox: number;
}

/** Outsiders have one slot for each so many of the others. */
const othersForEachOutsider = 4;

/** The limits of outsiders, who have slots of their own. */
export function outsiderNumbers({ total, perNamespace, perSandbox }: HoldLimitNumbers): HoldLimitNumbers {
  const part = (slots: number) => Math.ceil(slots / othersForEachOutsider);
  return { total: part(total), perNamespace: part(perNamespace), perSandbox: part(perSandbox) };
}

/** The number of slots in use for one sandbox, or for one namespace. */
interface Count {
  readonly name: string;
  lent: number;
}

interface NamespaceCount extends Count {
  readonly sandboxes: Map<string, Count>;
}

/** The slots of one request. Dispose of them to give them back. */
export interface LentSlots extends Disposable {
  /** So many bytes more are kept of the request. Returns whether there was a free slot for them, if they need one. */
  grow(bytes: number): boolean;
}

/** The shared fraction of the slots: see `HoldLimits`. */
const sharedPart = 0.1;

/**
 * The bytes of a request, head and kept body, or of a raw connection, that one slot has room for. More take more slots, so slots limit
 * memory too.
 */
const bytesOfSlot = 8_192;

/**
 * Lends slots to requests that wait. Without a free slot a request is rejected at once: a queue before a queue does not help.
 * A namespace gets one of the last tenth of the slots only while it holds fewer than are left, so that namespaces with many
 * held requests leave slots for others.
 */
export class HoldLimits {
  readonly #limits: HoldLimitNumbers;
  readonly #namespaces = new Map<string, NamespaceCount>();
  /** The number of shared slots. */
  readonly #shared: number;
  #total = 0;

  constructor(limits: HoldLimitNumbers) {
    this.#limits = limits;
    // If one namespace may have all slots, none are shared.
    this.#shared = limits.perNamespace < limits.total ? Math.floor(limits.total * sharedPart) : 0;
  }

  /** The number of slots in use. */
  get total(): number {
    return this.#total;
  }

  /** The number of slots that may be in use. */
  get max(): number {
    return this.#limits.total;
  }

  /**
   * Returns the slots of one request. A request of which `bytes` bytes are kept gets slots if one is free, and takes as many as
   * these need.
   *
   * @throws ActivatorError if the sandbox, its namespace or the replica has no free slot.
   */
  lend(namespace: string, name: string, bytes = 0): LentSlots {
    const inNamespace = this.#namespaces.get(namespace) ?? { name: namespace, lent: 0, sandboxes: new Map() };
    const inSandbox = inNamespace.sandboxes.get(name) ?? { name, lent: 0 };
    if (!this.#hasRoom(inNamespace, inSandbox)) throw new ActivatorError("HoldLimitReached");
    if (inNamespace.lent === 0) this.#namespaces.set(namespace, inNamespace);
    if (inSandbox.lent === 0) inNamespace.sandboxes.set(name, inSandbox);
    return new Slots(bytes, {
      hasRoom: () => this.#hasRoom(inNamespace, inSandbox),
      take: (more) => this.#take(inNamespace, inSandbox, more),
    });
  }

  #hasRoom(inNamespace: Count, inSandbox: Count): boolean {
    const { total, perNamespace, perSandbox } = this.#limits;
    const free = total - this.#total;
    const isShared = free <= this.#shared && inNamespace.lent >= free;
    return free > 0 && !isShared && inNamespace.lent < perNamespace && inSandbox.lent < perSandbox;
  }

  #take(inNamespace: NamespaceCount, inSandbox: Count, slots: number): void {
    this.#add(inNamespace, inSandbox, slots);
    if (inSandbox.lent === 0) inNamespace.sandboxes.delete(inSandbox.name);
    if (inNamespace.lent === 0) this.#namespaces.delete(inNamespace.name);
  }

  #add(inNamespace: Count, inSandbox: Count, difference: number): void {
    this.#total += difference;
    inNamespace.lent += difference;
    inSandbox.lent += difference;
  }
}

interface Lender {
  hasRoom(): boolean;
  /** Negative: they are given back. */
  take(slots: number): void;
}

/** Given back once. */
class Slots implements LentSlots {
  #lender: Lender | undefined;
  #bytes: number;
  #count: number;

  constructor(bytes: number, lender: Lender) {
    this.#lender = lender;
    this.#bytes = bytes;
    this.#count = slotsOf(bytes);
    lender.take(this.#count);
  }

  grow(bytes: number): boolean {
    this.#bytes += bytes;
    const more = slotsOf(this.#bytes) - this.#count;
    if (more <= 0 || !this.#lender) return true;
    if (!this.#lender.hasRoom()) return false;
    this.#count += more;
    this.#lender.take(more);
    return true;
  }

  [Symbol.dispose](): void {
    const lender = this.#lender;
    this.#lender = undefined;
    lender?.take(-this.#count);
  }
}

const slotsOf = (bytes: number): number => Math.max(Math.ceil(bytes / bytesOfSlot), 1);
