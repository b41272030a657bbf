/** A stream that keeps bytes which its client, or its sandbox, has yet to take. */
export interface WaitingStream {
  /** The namespace of the sandbox; empty: the response is the activator's own. */
  readonly namespace: string;
  /** The client's connection. */
  readonly connection: object;
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

/** What waits on a stream at a time. `passed`: a number that changes whenever something moves. */
interface Counted {
  readonly bytes: number;
  readonly passed: number;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
}

interface Waiting {
  readonly bytes: number;
  readonly passed: number;
  /** When something moved. */
  readonly sinceMs: number;
}

/** The streams of one connection of a client, to one namespace. */
interface OfConnection {
  /** Those that have stood still for longest come first. */
  readonly streams: Map<WaitingStream, Waiting>;
  bytes: number;
}

interface OfNamespace {
  readonly connections: Map<object, OfConnection>;
  bytes: number;
}

/**
 * Limits the memory of what waits on streams of HTTP/2 for a slow side. One connection of a client has a thousand streams, and each
 * keeps what its windows allow. Beyond the limit, the namespace with most loses a stream, of the connection with most: the one that has
 * stood still for longest, once that is long enough.
 */
export class WaitingBudget {
  readonly #bytesMax: number;
  readonly #sparedMs: number;
  readonly #events: WaitingEvents;
  readonly #namespaces = new Map<string, OfNamespace>();
  #bytes = 0;

  constructor(events: WaitingEvents, limits: WaitingLimits = {}) {
    this.#events = events;
    this.#bytesMax = limits.bytesMax ?? waitingBytesMax;
    this.#sparedMs = limits.sparedMs ?? sparedMs;
  }

  /** The memory of all that waits, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Sets what waits on a stream. Others, perhaps this one too, are shed until the rest fits.
   */
  keep(stream: WaitingStream, { bytes, passed, nowMs }: Counted): void {
    if (bytes <= 0) return this.release(stream);
    const ofNamespace = this.#ofNamespace(stream.namespace);
    const ofConnection = connectionIn(ofNamespace, stream.connection);
    const before = ofConnection.streams.get(stream);
    if (before?.passed !== passed) ofConnection.streams.delete(stream);
    const sinceMs = before?.passed === passed ? before.sinceMs : nowMs;
    ofConnection.streams.set(stream, { bytes, passed, sinceMs });
    this.#add(ofNamespace, ofConnection, bytes - (before?.bytes ?? 0));
    this.#shedUntilRestFits(nowMs);
  }

  release(stream: WaitingStream): void {
    const ofNamespace = this.#namespaces.get(stream.namespace);
    const ofConnection = ofNamespace?.connections.get(stream.connection);
    const waiting = ofConnection?.streams.get(stream);
    if (!ofNamespace || !ofConnection || !waiting) return;
    ofConnection.streams.delete(stream);
    this.#add(ofNamespace, ofConnection, -waiting.bytes);
    if (ofConnection.streams.size === 0) ofNamespace.connections.delete(stream.connection);
    if (ofNamespace.connections.size === 0) this.#namespaces.delete(stream.namespace);
  }

  #add(ofNamespace: OfNamespace, ofConnection: OfConnection, difference: number): void {
    ofConnection.bytes += difference;
    ofNamespace.bytes += difference;
    this.#bytes += difference;
  }

  #ofNamespace(namespace: string): OfNamespace {
    const known = this.#namespaces.get(namespace);
    if (known) return known;
    const ofNamespace = { connections: new Map<object, OfConnection>(), bytes: 0 };
    this.#namespaces.set(namespace, ofNamespace);
    return ofNamespace;
  }

  #shedUntilRestFits(nowMs: number): void {
    while (this.#bytes > this.#bytesMax) {
      const ofNamespace = withMost(this.#namespaces.values());
      const ofConnection = ofNamespace && withMost(ofNamespace.connections.values());
      const [first] = ofConnection?.streams ?? [];
      if (!first) return;
      const [stillest, { sinceMs }] = first;
      if (this.#bytes <= hardFactor * this.#bytesMax && nowMs - sinceMs < this.#sparedMs) return;
      this.release(stillest);
      this.#events.stalledCut();
      stillest.shed();
    }
  }
}

function connectionIn({ connections }: OfNamespace, connection: object): OfConnection {
  const known = connections.get(connection);
  if (known) return known;
  const ofConnection = { streams: new Map<WaitingStream, Waiting>(), bytes: 0 };
  connections.set(connection, ofConnection);
  return ofConnection;
}

function withMost<T extends { readonly bytes: number }>(owners: Iterable<T>): T | undefined {
  let most: T | undefined;
  for (const owner of owners) if (!most || owner.bytes > most.bytes) most = owner;
  return most;
}
