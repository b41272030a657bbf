import { TurnoverMap } from "../../lib/data/turnover.ts";
import { reportUnexpected, runGuarded } from "../../lib/guard/guard.ts";
import { IdleList, Link } from "../pod-connections/idle-list.ts";
import { Rank, Ranking } from "../pod-connections/ranking.ts";
import type { Sweep, Watched } from "../sweep.ts";

/** A stream that may keep bytes which its client, or its sandbox, has yet to take. */
export interface WaitingStream {
  /** The namespace of the sandbox; empty: the response is the activator's own. */
  readonly namespace: string;
  /** The client's connection. */
  readonly connection: object;
  /** Bytes that it keeps now. */
  readonly waitingBytes: number;
  /** A number that changes whenever something moves. */
  readonly passedBytes: number;
  /** Ends the stream: its owner has most, it has stood still for longest there, and memory is short. */
  shed(): void;
}

/** For metrics. */
export interface WaitingEvents {
  /** A stream was shed. */
  stalledCut(): void;
}

/** The maximum memory of what waits on all streams, in bytes: 500 to 1,000 streams of which nothing is taken. */
export const waitingBytesMax = 67_108_864;
/** A stream that has moved within this time is spared, so that slow clients that read are not cut. Milliseconds. */
const sparedMs = 10_000;
/** Beyond so many times the maximum no stream is spared. */
const hardFactor = 4;

/** Absent: the defaults. */
export interface WaitingLimits {
  readonly bytesMax?: number | undefined;
  readonly sparedMs?: number;
}

/** What waited on one stream when it was last looked at. */
class Waits {
  readonly link = new Link<Waits>(this);
  readonly stream: WaitingStream;
  bytes = 0;
  passed = 0;
  /** When something moved. */
  sinceMs = 0;
  /** Undefined: nothing waits. */
  owner: OfConnection | undefined;

  constructor(stream: WaitingStream) {
    this.stream = stream;
  }
}

/** The streams of one connection of a client, to one namespace. */
class OfConnection {
  readonly rank = new Rank<OfConnection>(this);
  readonly namespace: OfNamespace;
  /** Those that have stood still for longest come first. */
  readonly streams = new IdleList<Waits>();
  bytes = 0;

  constructor(namespace: OfNamespace) {
    this.namespace = namespace;
  }
}

class OfNamespace {
  readonly rank = new Rank<OfNamespace>(this);
  readonly connections = new TurnoverMap<object, OfConnection>();
  readonly ranking = new Ranking<OfConnection>();
  bytes = 0;
}

/**
 * Limits the memory of what waits on streams of HTTP/2 for a slow side. One connection of a client has 250 streams, and each
 * keeps what its windows allow. Beyond the limit, a namespace that has most loses a stream, of a connection that has most there: the one
 * that has stood still for longest, once that is long enough. "Has most": no other has twice as much.
 *
 * At each step of the sweep it looks once at each stream on which something may wait, and then sheds. Neither takes longer because there
 * are many owners.
 */
export class WaitingBudget implements Watched {
  sweepIndex = -1;
  readonly #bytesMax: number;
  readonly #sparedMs: number;
  readonly #events: WaitingEvents;
  readonly #sweep: Sweep;
  /** Those on which something may wait. */
  readonly #watched = new TurnoverMap<WaitingStream, Waits>();
  readonly #namespaces = new TurnoverMap<string, OfNamespace>();
  readonly #ranking = new Ranking<OfNamespace>();
  #bytes = 0;

  constructor(events: WaitingEvents, sweep: Sweep, limits: WaitingLimits = {}) {
    this.#events = events;
    this.#sweep = sweep;
    this.#bytesMax = limits.bytesMax ?? waitingBytesMax;
    this.#sparedMs = limits.sparedMs ?? sparedMs;
  }

  /** The memory of all that waits, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Something may wait on this stream from now on. It is looked at until nothing does. */
  watch(stream: WaitingStream): void {
    if (this.#watched.has(stream)) return;
    this.#watched.set(stream, new Waits(stream));
    this.#sweep.add(this);
  }

  /** The stream has ended, or nothing waits on it. */
  release(stream: WaitingStream): void {
    const waits = this.#watched.get(stream);
    if (!waits) return;
    this.#watched.delete(stream);
    this.#forget(waits);
    if (this.#watched.size === 0) this.#sweep.remove(this);
  }

  check(nowMs: number): void {
    for (const waits of this.#watched.walk()) {
      try {
        this.#look(waits, nowMs);
      } catch (error) {
        reportUnexpected("http-front", error); // the others are still looked at
      }
    }
    this.#shedUntilRestFits(nowMs);
  }

  #look(waits: Waits, nowMs: number): void {
    const { stream } = waits;
    const { waitingBytes, passedBytes } = stream;
    if (waitingBytes <= 0) return this.release(stream);
    const owner = waits.owner ?? this.#ownerOf(stream);
    if (waits.owner !== owner || waits.passed !== passedBytes) {
      owner.streams.join(waits.link);
      waits.sinceMs = nowMs;
    }
    waits.owner = owner;
    waits.passed = passedBytes;
    this.#add(owner, waitingBytes - waits.bytes);
    waits.bytes = waitingBytes;
  }

  #forget(waits: Waits): void {
    const { owner, stream } = waits;
    if (!owner) return;
    waits.link.leave();
    this.#add(owner, -waits.bytes);
    if (owner.streams.size === 0) owner.namespace.connections.delete(stream.connection);
    if (owner.namespace.connections.size === 0) this.#namespaces.delete(stream.namespace);
  }

  #add(owner: OfConnection, difference: number): void {
    const { namespace } = owner;
    owner.bytes += difference;
    namespace.ranking.move(owner.rank, owner.bytes);
    namespace.bytes += difference;
    this.#ranking.move(namespace.rank, namespace.bytes);
    this.#bytes += difference;
  }

  #ownerOf({ namespace, connection }: WaitingStream): OfConnection {
    const ofNamespace = this.#namespaces.get(namespace) ?? new OfNamespace();
    this.#namespaces.set(namespace, ofNamespace);
    const owner = ofNamespace.connections.get(connection) ?? new OfConnection(ofNamespace);
    ofNamespace.connections.set(connection, owner);
    return owner;
  }

  #shedUntilRestFits(nowMs: number): void {
    while (this.#bytes > this.#bytesMax) {
      const stillest = this.#ranking.largest?.ranking.largest?.streams.next;
      if (!stillest) return;
      if (this.#bytes <= hardFactor * this.#bytesMax && nowMs - stillest.sinceMs < this.#sparedMs) return;
      const { stream } = stillest;
      this.release(stream);
      this.#events.stalledCut();
      runGuarded("http-front", () => stream.shed());
    }
  }
}
