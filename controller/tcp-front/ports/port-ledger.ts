import {
  type EndpointSlice,
  olderFirst,
  portsIn,
  portsNamedBy,
  type TcpFrontPort,
  tcpFrontOf,
  tcpFrontPorts,
} from "../../../api/between-programs/tcp-front.ts";
import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { FreePorts } from "./free-ports.ts";
import { FreedAges, type RestedMs } from "./freed-ages.ts";
import { KeptCounts, namespaceOf } from "./kept-counts.ts";
import { Reservations } from "./reservations.ts";
import { portsToRest, RestingPorts } from "./resting-ports.ts";

/** The maximum numbers of activator ports. Assigned ports are never taken away. */
export interface PortLimits {
  /** In use; twice as many with those in quarantine. */
  readonly perSandbox: number;
  /** In use or in quarantine. */
  readonly perNamespace: number;
}

/** What keeps a sandbox from a port. */
export type PortLimit = "sandbox" | "namespace" | "range";

export interface PortGrant {
  /** Free ports. They stay free until they are reserved. */
  readonly ports: readonly number[];
  /** The limit that was reached; undefined: it got all ports that it asked for. */
  readonly limitedBy: PortLimit | undefined;
}

export interface PortLedgerOptions {
  readonly clock: Clock;
  /** The quarantine of a port after it was freed. */
  readonly quarantineMs: number;
  readonly limits: PortLimits;
  /** 0 to 1: where in the range the search for a port begins. */
  readonly random?: () => number;
}

interface Entry {
  readonly slice: Stored<EndpointSlice>;
  /** What it keeps from others. */
  readonly ports: ReadonlySet<number>;
}

/** How many ports a slice may have, and all slices of its namespace. */
interface Most {
  readonly ofSlice: number;
  readonly ofNamespace: number;
}

export interface PortCounts {
  readonly allocated: number;
  readonly quarantined: number;
}

const range = tcpFrontPorts.last - tcpFrontPorts.first + 1;

/** The owner of each activator port, from the slices and from the latest assignments of this controller. */
export class PortLedger {
  readonly #quarantineMs: number;
  readonly #ages: FreedAges;
  readonly #limits: PortLimits;
  readonly #entries = new Map<string, Entry>();
  /** The slice that has a port. It had it first: a tenant could name another's port in a slice that is older. */
  readonly #holders = new Map<number, string>();
  readonly #reserved = new Reservations();
  readonly #kept = new KeptCounts();
  /** Of slices that went before their time. */
  readonly #vanished: RestingPorts;
  /** Of those, the ports that an activator does not open for their new sandbox. */
  readonly #refused: RestingPorts;
  /** Those that no slice has, that are not reserved, and that do not rest. */
  readonly #free = new FreePorts();
  /** The next port to try. A new leader does not know the last port that its predecessor assigned. */
  #next: number;

  constructor({ clock, quarantineMs, limits, random = Math.random }: PortLedgerOptions) {
    this.#quarantineMs = quarantineMs;
    this.#ages = new FreedAges(clock);
    this.#limits = limits;
    this.#vanished = new RestingPorts(clock, quarantineMs, (port) => this.#judge(port));
    this.#refused = new RestingPorts(clock, quarantineMs);
    this.#next = tcpFrontPorts.first + (Math.floor(random() * range) % range);
  }

  /**
   * Records what former leaders wrote, all of it: their limits may have been higher, and a limit takes no port away. If several slices name
   * one port, the oldest has it, as for activators that start now.
   */
  takeOver(slices: readonly Stored<EndpointSlice>[]): void {
    const most = { ofSlice: range, ofNamespace: range };
    for (const slice of slices.toSorted(olderFirst)) this.#note(slice, most);
  }

  /**
   * Records the current content of a slice, which any user with the right to write slices can have changed. It keeps what it had, also if
   * the slice was gone meanwhile, and what is reserved for it, and further ports only if they are free and within its limits. What it no
   * longer names rests, as if the slice had gone.
   */
  note(slice: Stored<EndpointSlice>): void {
    const { perSandbox, perNamespace } = this.#limits;
    this.#note(slice, { ofSlice: 2 * perSandbox, ofNamespace: perNamespace });
  }

  #note(slice: Stored<EndpointSlice>, { ofSlice, ofNamespace }: Most): void {
    const key = keyOf(slice);
    const before = this.portsOf(key);
    const resting = this.#remove(key);
    this.#ages.see(key, tcpFrontOf(slice));
    const named = [...portsNamedBy(slice)];
    const isOwn = (port: number) => before.has(port) || this.#isKeptFor(key, port);
    const own = named.filter(isOwn);
    this.#hold(key, slice, own);
    this.#rest(key, resting);
    const room = Math.min(ofSlice - this.#kept.of(key), ofNamespace - this.#countIn(namespaceOf(key)));
    const others = named.filter((port) => !isOwn(port) && this.#isFree(port)).slice(0, Math.max(room, 0));
    if (others.length > 0) this.#hold(key, slice, [...own, ...others]);
  }

  #hold(key: string, slice: Stored<EndpointSlice>, ports: readonly number[]): void {
    this.#entries.set(key, { slice, ports: new Set(ports) });
    for (const port of ports) {
      this.#holders.set(port, key);
      // It counts once: for the slice that is back.
      if (this.#isBackFor(key, port)) this.#vanished.end(port);
      this.#judge(port);
    }
    this.#recount(key);
  }

  /** Notes that a slice is gone. Its ports rest for as long as if it had been freed now, unless it was long ago. */
  gone(key: string): void {
    this.#rest(key, this.#remove(key));
    this.#ages.forget(key);
    this.#recount(key);
  }

  /**
   * An activator remembers that these ports stood for another sandbox recently, and no slice names it any more. Their new
   * sandbox gets other ports, and these are quarantined.
   */
  refused(ports: readonly number[]): void {
    for (const port of ports) {
      this.#vanished.rest(port);
      this.#refused.rest(port);
      this.#judge(port);
    }
  }

  /**
   * Keeps ports for a slice until `release`, whether or not it is ever seen with them. Whether it did: if one of them is another slice's, or
   * rests for another, nothing changes.
   */
  reserve(key: string, ports: readonly TcpFrontPort[]): boolean {
    if (!ports.every(({ activatorPort }) => this.#isFor(key, activatorPort))) return false;
    const before = this.#reserved.of(key).map(({ activatorPort }) => activatorPort);
    this.#reserved.end(key);
    if (ports.length > 0) this.#reserved.set(key, ports);
    for (const port of before) if (this.#isFree(port)) this.#vanished.rest(port, key);
    for (const port of [...before, ...ports.map(({ activatorPort }) => activatorPort)]) this.#judge(port);
    this.#recount(key);
    return true;
  }

  /** What was reserved and is in no slice rests: a slice may have had it, or have it by a write that was not answered. */
  release(key: string): void {
    this.reserve(key, []);
  }

  reservedFor(key: string): readonly TcpFrontPort[] {
    return this.#reserved.of(key);
  }

  /** How long the released ports of a slice rest already. */
  restedMs(key: string): RestedMs {
    return this.#ages.restedMs(key);
  }

  /** What a slice keeps from others. */
  portsOf(key: string): ReadonlySet<number> {
    return this.#entries.get(key)?.ports ?? new Set();
  }

  /** Ports for a slice of which `inUse` are in use and `missing` are missing, as far as its limits and the range allow. */
  grant(key: string, { inUse, missing }: { readonly inUse: number; readonly missing: number }): PortGrant {
    const { perSandbox } = this.#limits;
    const ofSandbox = Math.max(Math.min(perSandbox - inUse, 2 * perSandbox - this.#kept.of(key)), 0);
    const ofNamespace = this.roomIn(namespaceOf(key));
    const allowed = Math.min(missing, ofSandbox, ofNamespace);
    const ports = this.room === 0 ? [] : this.#free.next(allowed, this.#next);
    if (ports.length < allowed) return { ports, limitedBy: "range" };
    const limit = ofNamespace < ofSandbox ? "namespace" : "sandbox";
    return { ports, limitedBy: allowed < missing ? limit : undefined };
  }

  #countIn(namespace: string): number {
    return this.#kept.in(namespace) + this.#vanished.of(namespace);
  }

  /** Quarantines ports that a slice had, unless it still has them. */
  #rest(key: string, ports: readonly number[]): void {
    for (const port of ports) {
      if (this.portsOf(key).has(port)) continue;
      if (this.#reserved.ownerOf(port) !== key) this.#vanished.rest(port, key);
      this.#judge(port);
    }
  }

  /** How many ports are free, those too whose quarantine has just ended. */
  get room(): number {
    this.#vanished.endWhatIsOver();
    return this.#free.size;
  }

  /** How many more a namespace may have. */
  roomIn(namespace: string): number {
    return Math.max(this.#limits.perNamespace - this.#countIn(namespace), 0);
  }

  /** The next search begins behind this port. */
  gave(port: number): void {
    this.#next = port < tcpFrontPorts.last ? port + 1 : tcpFrontPorts.first;
  }

  /** Which ports of a slice are not its own: the ledger did not record them for it, or an activator refused them. */
  contested(key: string): ReadonlySet<number> {
    const refused = [...this.portsOf(key)].filter((port) => this.#refused.has(port));
    return new Set([...this.foreign(key), ...refused]);
  }

  /** The ports that a slice names without having them. Not this controller wrote them. */
  foreign(key: string): readonly number[] {
    const entry = this.#entries.get(key);
    const front = entry && tcpFrontOf(entry.slice);
    return front ? portsIn(front).filter((port) => !entry.ports.has(port)) : [];
  }

  count(): PortCounts {
    let allocated = 0;
    let quarantined = this.#vanished.size;
    for (const { slice, ports } of this.#entries.values()) {
      const front = tcpFrontOf(slice);
      const used = front && front.freedAt === undefined ? front.ports : [];
      const inUse = used.filter(({ activatorPort }) => ports.has(activatorPort)).length;
      allocated += inUse;
      quarantined += ports.size - inUse;
    }
    return { allocated, quarantined };
  }

  /** Whether a port that rests was this slice's. Nobody else can have got it since. */
  #isBackFor(key: string, port: number): boolean {
    return this.#vanished.ownerOf(port) === key && !this.#refused.has(port);
  }

  /** Whether a port that the slice does not hold is kept for it. */
  #isKeptFor(key: string, port: number): boolean {
    return this.#reserved.ownerOf(port) === key || this.#isBackFor(key, port);
  }

  #isFor(key: string, port: number): boolean {
    return this.#holders.get(port) === key || this.#isKeptFor(key, port) || this.#isFree(port);
  }

  #isFree(port: number): boolean {
    return !this.#holders.has(port) && this.#reserved.ownerOf(port) === undefined && !this.#vanished.has(port);
  }

  /** Updates whether a port is free, after each change of what may keep it. */
  #judge(port: number): void {
    this.#free.set(port, this.#isFree(port));
  }

  /** Updates the counts for a slice: the ports that it names or that are reserved for it, each once. */
  #recount(key: string): void {
    const named = this.portsOf(key);
    const onlyReserved = this.reservedFor(key).filter(({ activatorPort }) => !named.has(activatorPort));
    this.#kept.set(key, named.size + onlyReserved.length);
  }

  /** Returns the ports that have to rest. */
  #remove(key: string): readonly number[] {
    const entry = this.#entries.get(key);
    if (!entry) return [];
    this.#entries.delete(key);
    for (const port of entry.ports) {
      this.#holders.delete(port);
      this.#judge(port);
    }
    const rested = this.#ages.restedMs(key);
    const front = tcpFrontOf(entry.slice);
    return portsToRest(entry.ports, front, (freedAt) => (rested.get(freedAt) ?? 0) >= this.#quarantineMs);
  }
}
