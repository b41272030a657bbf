import type { Clock } from "../../lib/time/clock.ts";
import { type ClockReading, readClocks } from "../../lib/time/clock-jumps.ts";
import type { RequestHead } from "../request.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import { Sweep } from "../sweep.ts";
import { Idle, isUsable } from "./idle-connection.ts";
import type { IdleLimits } from "./idle-limits.ts";
import { IdleShares } from "./idle-shares.ts";
import { ByAddress, isSamePlace, type Place, type PodAddress } from "./place.ts";
import { PodShelf, PortShelf, restingMax } from "./shelf.ts";

/** How long an idle connection is kept if the server states no timeout, in milliseconds. Common servers close after 5 s. */
const unsaidLifeMs = 4_000;
/** The fraction of a server's stated timeout that is used: its clock began before ours, and its FIN needs time to arrive. */
const trustedShare = 0.5;
const longestLifeMs = 90_000;
/** A connection that becomes idle may get a reading of the clocks that is older by this, in milliseconds: it seems idle for longer. */
const readingAgeMaxMs = 100;

/** A repeated request of these methods changes nothing (RFC 9110, 9.2.1), so its loss on a closing connection is only a failure. */
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/** Counts the requests of a port. */
export type CountedPort = PortShelf<Idle>;

/**
 * Idle connections to Pods, by place; they are closed when the Pod has lost its address. No request is ever sent twice, so one is
 * sent on an idle connection only if the far side is not about to close it. The reader of an idle connection must close it at
 * its end, or when the server sends data without a request. A port keeps as many connections as it had requests at the same
 * time in the last seconds. Tenants choose the number of requests, ports and Pods, so every limit applies. Beyond one, the
 * connection that has been idle longest is closed: of the port or the Pod, and for limits that several share, of a Pod that has most.
 */
export class Pool {
  readonly #clock: Clock;
  readonly #sweep: Sweep;
  readonly #limits: IdleLimits;
  readonly #shares = new IdleShares<Idle>();
  readonly #pods = new ByAddress<PodShelf<Idle>>();
  /** One for each connection, idle or not: many become idle a thousand times. */
  readonly #entries = new WeakMap<WireSocket, Idle>();
  /** The port that was used last: a request asks for its port again and again. */
  #last: PortShelf<Idle> | undefined;
  #reading: ClockReading;
  #evicted = 0;

  constructor(limits: IdleLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#sweep = new Sweep(clock);
    this.#reading = readClocks(clock);
  }

  /** The most recently used connection, if it is safe for this request; undefined: a new connection is needed. */
  take(place: Place, head: RequestHead): WireSocket | undefined {
    if (head.upgrade || head.grpc) return undefined; // gRPC needs connections of HTTP/2
    const shelf = this.#known(place);
    if (!shelf) return undefined;
    const now = readClocks(this.#clock);
    this.#reading = now;
    const safe = safeMethods.has(head.method) ? shelf.idle : shelf.said;
    for (let newest = safe.newest; newest; newest = safe.newest) {
      const { value } = newest;
      if (!value.isGood(now)) this.leave(value);
      else {
        value.use();
        return value.socket;
      }
    }
    return undefined;
  }

  /** Counts a request that is sent on a connection, until `end` or `put`. */
  begin(place: Place, nowMs: number): PortShelf<Idle> {
    const shelf = this.#shelfOf(place);
    shelf.begin(nowMs);
    return shelf;
  }

  /** The request has ended, and its connection was not kept. */
  end(shelf: PortShelf<Idle>): void {
    shelf.end();
    this.#forgetEmpty(shelf.place);
  }

  /**
   * The request has ended. Keeps its connection, whose response was read completely. `hadBody`: the program may answer before it
   * reads the body, so a part of that may still be on its way.
   */
  put(shelf: PortShelf<Idle>, socket: WireSocket, saidMs: number | undefined, hadBody: boolean): void {
    const { place } = shelf;
    shelf.end();
    const lifeMs = Math.min(saidMs === undefined ? unsaidLifeMs : saidMs * trustedShare, longestLifeMs);
    const nowMs = this.#clock.ticksMs();
    const mayRest = isUsable(socket) && this.#limits.perPort > 0 && lifeMs > 0 && !shelf.pod.isLost;
    if (!mayRest || shelf.makesRoom(nowMs)) {
      socket.destroy();
      return this.#forgetEmpty(place);
    }
    const entry = this.#entryOf(socket, place);
    if (nowMs - this.#reading.ticksMs > readingAgeMaxMs) this.#reading = readClocks(this.#clock);
    entry.rest(this.#reading, lifeMs, saidMs !== undefined);
    entry.hadBody = hadBody;
    this.#shelve(entry, shelf, nowMs);
    this.#sweep.add(entry);
    socket.readOn(); // reading detects the far side's close
  }

  /** Closes connections to an address that its Pod has lost: it may become another Pod's. */
  forgetAddress(address: PodAddress): void {
    const shelf = this.#pods.get(address);
    if (!shelf) return;
    shelf.isLost = true; // requests in progress may still want to keep theirs
    for (const entry of shelf.idle) this.#close(entry);
    this.#pods.delete(address);
    this.#last = undefined;
  }

  /** The number of Pods with connections, idle or in use. */
  get pods(): number {
    return this.#pods.pods;
  }

  /** The number of namespaces with idle connections. */
  get namespaces(): number {
    return this.#shares.namespaces;
  }

  /** The number of idle connections. */
  get size(): number {
    let open = 0;
    for (const { idle } of this.#pods) for (const { socket } of idle) if (isUsable(socket)) open += 1;
    return open;
  }

  /** The number of idle connections that were closed to keep another. */
  get evicted(): number {
    return this.#evicted;
  }

  [Symbol.dispose](): void {
    for (const { idle } of this.#pods) for (const entry of idle) this.#close(entry);
    this.#sweep[Symbol.dispose]();
  }

  leave(entry: Idle): void {
    if (!entry.isIdle) {
      this.#sweep.remove(entry);
      this.#forgetEmpty(entry.place);
    } else if (entry.shelf && entry.shelf.idle.size > restingMax) this.#release(entry);
    else this.#close(entry);
  }

  giveBack({ idle }: PortShelf<Idle>, max: number): void {
    if (idle.oldest && idle.size > max) this.#release(idle.oldest.value);
  }

  #shelve(entry: Idle, ofPort: PortShelf<Idle>, nowMs: number): void {
    const { perPort, perNamespace, total } = this.#limits;
    const { pod: ofPod } = ofPort;
    entry.shelf = ofPort;
    ofPort.idle.join(entry.inPort);
    if (entry.isSaid) ofPort.said.join(entry.inSaid);
    ofPod.idle.join(entry.inPod);
    this.#trim(ofPort.idle, Math.min(perPort, ofPort.idleMax(nowMs)));
    this.#trim(ofPod.idle, ofPod.idleMax(nowMs));
    this.#trim(ofPod.idle.namespace, perNamespace);
    this.#trim(this.#shares, total);
  }

  #known(place: Place): PortShelf<Idle> | undefined {
    const last = this.#last;
    if (last && isSamePlace(last.place, place)) return last;
    const known = this.#pods.get(place)?.ports.get(place.port);
    if (known) this.#last = known;
    return known;
  }

  #shelfOf(place: Place): PortShelf<Idle> {
    const known = this.#known(place);
    if (known) return known;
    const { port } = place;
    const pod = this.#pods.get(place) ?? new PodShelf<Idle>(place.namespace, this.#shares, this.#limits.perPod);
    const shelf = new PortShelf<Idle>(place, pod);
    this.#pods.set(place, pod);
    pod.ports.set(port, shelf);
    return shelf;
  }

  /** One was added, so one is closed at most. */
  #trim(kept: Kept | undefined, max: number): void {
    const next = kept && kept.size > max ? kept.next : undefined;
    if (!next) return;
    if (isUsable(next.socket)) this.#evicted += 1;
    this.#release(next);
  }

  /**
   * Closes by a reset: after an end the kernel keeps the local port for a minute, and a crowd could use up those to its Pod. But a
   * reset throws away what is not read yet, so a connection whose last request had a body is ended.
   */
  #release(entry: Idle): void {
    if (!entry.hadBody) entry.socket.reset();
    this.#close(entry);
  }

  #entryOf(socket: WireSocket, place: Place): Idle {
    const known = this.#entries.get(socket);
    if (known) return known;
    const entry = new Idle(socket, place, this);
    this.#entries.set(socket, entry);
    return entry;
  }

  #close(entry: Idle): void {
    entry.use();
    entry.socket.destroy();
    this.#sweep.remove(entry);
    this.#forgetEmpty(entry.place);
  }

  #forgetEmpty(place: Place): void {
    const { port } = place;
    const pod = this.#pods.get(place);
    const shelf = pod?.ports.get(port);
    if (shelf && shelf.idle.size === 0 && shelf.used.current === 0) {
      pod?.ports.delete(port);
      if (this.#last === shelf) this.#last = undefined;
    }
    if (pod?.ports.size === 0) this.#pods.delete(place);
  }
}

/** Idle connections that a limit is for, and which of them is closed beyond it. */
interface Kept {
  readonly size: number;
  readonly next: Idle | undefined;
}

/** The `timeout` of a `Keep-Alive` header, in milliseconds. */
export function keepAliveMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const match = /(?:^|,)\s*timeout\s*=\s*"?(\d{1,6})/i.exec(value);
  return match ? Number(match[1]) * 1000 : undefined;
}
