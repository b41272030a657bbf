import { keyOf, type Stored } from "../../api/meta.ts";
import {
  type EndpointSlice,
  olderFirst,
  portsNamedBy,
  type TcpFrontPort,
  tcpFrontOf,
  tcpFrontPorts,
} from "../../api/tcp-front.ts";
import type { Clock } from "../../lib/clock.ts";

export interface PortLedgerOptions {
  readonly clock: Clock;
  /** How long a port is given to nobody after it was freed. */
  readonly quarantineMs: number;
  /** 0 to 1: where in the range the first port is looked for. */
  readonly random?: () => number;
}

interface Entry {
  readonly slice: Stored<EndpointSlice>;
  readonly ports: ReadonlySet<number>;
}

export interface PortCounts {
  readonly allocated: number;
  readonly quarantined: number;
}

const range = tcpFrontPorts.last - tcpFrontPorts.first + 1;

/** Who has which port of the activators, as the slices say it, and what this controller has just given. */
export class PortLedger {
  readonly #clock: Clock;
  readonly #quarantineMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #holders = new Map<number, Set<string>>();
  /** Given in a write that the slices do not show yet. */
  readonly #reserved = new Map<string, readonly TcpFrontPort[]>();
  readonly #reservedBy = new Map<number, string>();
  /** Of slices that went before their time: until when, by the monotonic clock. */
  readonly #vanishedUntilMs = new Map<number, number>();
  /** Of those, what an activator does not open for whoever got it. */
  readonly #refusedUntilMs = new Map<number, number>();
  /** The next port to look at, counted from the first. A new leader does not know what its predecessor gave last. */
  #next: number;

  constructor({ clock, quarantineMs, random = Math.random }: PortLedgerOptions) {
    this.#clock = clock;
    this.#quarantineMs = quarantineMs;
    this.#next = Math.floor(random() * range) % range;
  }

  /** Notes what a slice says now. Returns the other slices that say something about one of the same ports. */
  note(slice: Stored<EndpointSlice>): readonly string[] {
    const key = keyOf(slice);
    this.#remove(key);
    const ports = portsNamedBy(slice);
    this.#entries.set(key, { slice, ports });
    const others = new Set<string>();
    for (const port of ports) {
      const holders = this.#holders.get(port) ?? new Set();
      for (const other of holders) others.add(other);
      this.#holders.set(port, holders.add(key));
    }
    return [...others];
  }

  /** Notes that a slice is gone. Its ports rest for as long as if it had been freed now, unless it was long ago. */
  gone(key: string): void {
    const untilMs = this.#clock.ticksMs() + this.#quarantineMs;
    for (const port of this.#remove(key)) {
      if (this.#reservedBy.get(port) !== key) this.#vanishedUntilMs.set(port, untilMs);
    }
  }

  /**
   * An activator remembers that these stood for another sandbox not long ago, of which no slice tells any more: whoever got
   * them gets others, and they rest.
   */
  refused(ports: readonly number[]): void {
    const untilMs = this.#clock.ticksMs() + this.#quarantineMs;
    for (const port of ports) {
      this.#vanishedUntilMs.set(port, untilMs);
      this.#refusedUntilMs.set(port, untilMs);
    }
  }

  /** Keeps ports for a slice until `release`, whether or not it is ever seen with them. */
  reserve(key: string, ports: readonly TcpFrontPort[]): void {
    this.release(key);
    this.#reserved.set(key, ports);
    for (const { activatorPort } of ports) this.#reservedBy.set(activatorPort, key);
  }

  release(key: string): void {
    for (const { activatorPort } of this.reservedFor(key)) this.#reservedBy.delete(activatorPort);
    this.#reserved.delete(key);
  }

  reservedFor(key: string): readonly TcpFrontPort[] {
    return this.#reserved.get(key) ?? [];
  }

  /** What a slice keeps from others, as far as it was noted. */
  portsOf(key: string): ReadonlySet<number> {
    return this.#entries.get(key)?.ports ?? new Set();
  }

  /** The next ports that nobody has, at most so many; they are anybody's until they are reserved. */
  free(count: number): readonly number[] {
    const found: number[] = [];
    for (let looked = 0; looked < range && found.length < count; looked += 1) {
      const port = tcpFrontPorts.first + ((this.#next + looked) % range);
      if (this.#isFree(port)) found.push(port);
    }
    return found;
  }

  /** The next search begins behind this port. */
  gave(port: number): void {
    this.#next = (port - tcpFrontPorts.first + 1) % range;
  }

  /** Which ports of a slice are not its own: an older one has them too, which counts for the activators as well, or they rest. */
  contested(key: string): ReadonlySet<number> {
    const entry = this.#entries.get(key);
    if (!entry) return new Set();
    const isOlder = (other: string) => {
      const holder = this.#entries.get(other);
      return other !== key && holder !== undefined && olderFirst(holder.slice, entry.slice) < 0;
    };
    const olderHas = (port: number) => [...(this.#holders.get(port) ?? [])].some(isOlder);
    return new Set([...entry.ports].filter((port) => olderHas(port) || this.#isRefused(port)));
  }

  count(): PortCounts {
    let allocated = 0;
    const nowMs = this.#clock.ticksMs();
    let quarantined = this.#vanishedUntilMs.values().reduce((sum, untilMs) => sum + Number(untilMs > nowMs), 0);
    for (const { slice, ports } of this.#entries.values()) {
      const front = tcpFrontOf(slice);
      const inUse = front && front.freedAt === undefined ? front.ports.length : 0;
      allocated += inUse;
      quarantined += ports.size - inUse;
    }
    return { allocated, quarantined };
  }

  #isRefused(port: number): boolean {
    const untilMs = this.#refusedUntilMs.get(port);
    if (untilMs === undefined) return false;
    if (untilMs > this.#clock.ticksMs()) return true;
    this.#refusedUntilMs.delete(port);
    return false;
  }

  #isFree(port: number): boolean {
    if (this.#holders.has(port) || this.#reservedBy.has(port)) return false;
    const untilMs = this.#vanishedUntilMs.get(port);
    if (untilMs === undefined) return true;
    if (untilMs > this.#clock.ticksMs()) return false;
    this.#vanishedUntilMs.delete(port);
    return true;
  }

  /** Returns the ports that have to rest. */
  #remove(key: string): readonly number[] {
    const entry = this.#entries.get(key);
    if (!entry) return [];
    this.#entries.delete(key);
    for (const port of entry.ports) {
      const holders = this.#holders.get(port);
      holders?.delete(key);
      if (holders?.size === 0) this.#holders.delete(port);
    }
    return restingAfter(entry, this.#clock.now().getTime() - this.#quarantineMs);
  }
}

/** Without what was freed before that moment. */
function restingAfter({ slice, ports }: Entry, freedBeforeMs: number): readonly number[] {
  const front = tcpFrontOf(slice);
  if (front?.freedAt !== undefined && Date.parse(front.freedAt) <= freedBeforeMs) return [];
  const over = (front?.freedPorts ?? []).filter(({ freedAt }) => Date.parse(freedAt) <= freedBeforeMs);
  const rested = new Set(over.map(({ activatorPort }) => activatorPort));
  return [...ports].filter((port) => !rested.has(port));
}
