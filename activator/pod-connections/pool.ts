import type { Clock } from "../../lib/time/clock.ts";
import { ageMs, type ClockReading, readClocks } from "../../lib/time/clock-jumps.ts";
import type { RequestHead } from "../request.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import { Sweep, type Watched } from "../sweep.ts";
import type { IdleLimits } from "./idle-limits.ts";
import { IdleList, Link } from "./idle-list.ts";
import { ByAddress, type Place, type PodAddress } from "./place.ts";
import { PodShelf, PortShelf, restingMax } from "./shelf.ts";

/** How long an idle connection is kept if the server states no timeout, in milliseconds. Common servers close after 5 s. */
const unsaidLifeMs = 4_000;
/** The fraction of a server's stated timeout that is used: its clock began before ours, and its FIN needs time to arrive. */
const trustedShare = 0.5;
const longestLifeMs = 90_000;

/** A repeated request of these methods changes nothing (RFC 9110, 9.2.1), so its loss on a closing connection is only a failure. */
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/** Counts the requests of a port. */
export type CountedPort = PortShelf<Idle>;

/**
 * Idle connections to Pods, by place; they are closed when the Pod has lost its address. No request is ever sent twice, so one is
 * sent on an idle connection only if the far side is not about to close it. The reader of an idle connection must close it at
 * its end, or when the server sends data without a request. A port keeps as many connections as it had requests at the same
 * time in the last seconds. Tenants choose the number of requests, ports and Pods, so every limit applies: beyond one, the
 * connection that has been idle longest is closed.
 */
export class Pool {
  readonly #clock: Clock;
  readonly #sweep: Sweep;
  readonly #limits: IdleLimits;
  readonly #all = new IdleList<Idle>();
  readonly #namespaces = new Map<string, IdleList<Idle>>();
  readonly #pods = new ByAddress<PodShelf<Idle>>();
  /** One for each connection, idle or not: many become idle a thousand times. */
  readonly #entries = new WeakMap<WireSocket, Idle>();
  #evicted = 0;

  constructor(limits: IdleLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#sweep = new Sweep(clock);
  }

  /** The most recently used connection, if it is safe for this request; undefined: a new connection is needed. */
  take(place: Place, head: RequestHead): WireSocket | undefined {
    if (head.upgrade || head.grpc) return undefined; // gRPC needs connections of HTTP/2
    const shelf = this.#pods.get(place)?.ports.get(place.port);
    if (!shelf) return undefined;
    const now = readClocks(this.#clock);
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
    const now = readClocks(this.#clock);
    const nowMs = now.ticksMs;
    const mayRest = isUsable(socket) && this.#limits.perPort > 0 && lifeMs > 0 && !shelf.pod.isLost;
    if (!mayRest || shelf.makesRoom(nowMs)) {
      socket.destroy();
      return this.#forgetEmpty(place);
    }
    const entry = this.#entryOf(socket, place);
    entry.rest(now, lifeMs, saidMs !== undefined);
    entry.hadBody = hadBody;
    this.#shelve(entry, nowMs);
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
  }

  /** The number of Pods with connections, idle or in use. */
  get pods(): number {
    return this.#pods.pods;
  }

  /** The number of namespaces with idle connections. */
  get namespaces(): number {
    return this.#namespaces.size;
  }

  /** The number of idle connections. */
  get size(): number {
    let open = 0;
    for (const { socket } of this.#all) if (isUsable(socket)) open += 1;
    return open;
  }

  /** The number of idle connections that were closed to keep another. */
  get evicted(): number {
    return this.#evicted;
  }

  [Symbol.dispose](): void {
    for (const entry of this.#all) this.#close(entry);
    this.#sweep[Symbol.dispose]();
  }

  /** It was taken, or its time has passed. */
  leave(entry: Idle): void {
    if (!entry.isIdle) {
      this.#sweep.remove(entry);
      this.#forgetEmpty(entry.place);
    } else if (entry.shelf && entry.shelf.idle.size > restingMax) this.#release(entry);
    else this.#close(entry);
  }

  /** Closes one that is not needed any more, if any. */
  giveBack({ idle }: PortShelf<Idle>, max: number): void {
    if (idle.oldest && idle.size > max) this.#release(idle.oldest.value);
  }

  #shelve(entry: Idle, nowMs: number): void {
    const { place } = entry;
    const { perPort, perNamespace, total } = this.#limits;
    const ofPort = this.#shelfOf(place);
    const { pod: ofPod } = ofPort;
    const ofNamespace = this.#listOf(place.namespace);
    entry.shelf = ofPort;
    ofPort.idle.join(entry.inPort);
    if (entry.isSaid) ofPort.said.join(entry.inSaid);
    ofPod.idle.join(entry.inPod);
    ofNamespace.join(entry.inNamespace);
    this.#all.join(entry.inAll);
    this.#trim(ofPort.idle, Math.min(perPort, ofPort.idleMax(nowMs)));
    this.#trim(ofPod.idle, ofPod.idleMax(nowMs));
    this.#trim(ofNamespace, perNamespace);
    this.#trim(this.#all, total);
  }

  #listOf(namespace: string): IdleList<Idle> {
    const known = this.#namespaces.get(namespace);
    if (known) return known;
    const list = new IdleList<Idle>();
    this.#namespaces.set(namespace, list);
    return list;
  }

  #shelfOf(place: Place): PortShelf<Idle> {
    const { port } = place;
    const known = this.#pods.get(place)?.ports.get(port);
    if (known) return known;
    const pod = this.#pods.get(place) ?? new PodShelf<Idle>(this.#limits.perPod);
    const shelf = new PortShelf<Idle>(place, pod);
    this.#pods.set(place, pod);
    pod.ports.set(port, shelf);
    return shelf;
  }

  /** One was added, so one is closed at most. */
  #trim({ size, oldest }: IdleList<Idle>, max: number): void {
    if (size <= max || !oldest) return;
    if (isUsable(oldest.value.socket)) this.#evicted += 1;
    this.#release(oldest.value);
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
    const { namespace, port } = place;
    const pod = this.#pods.get(place);
    const shelf = pod?.ports.get(port);
    if (shelf && shelf.idle.size === 0 && shelf.used.current === 0) pod?.ports.delete(port);
    if (pod?.ports.size === 0) this.#pods.delete(place);
    if (this.#namespaces.get(namespace)?.size === 0) this.#namespaces.delete(namespace);
  }
}

class Idle implements Watched {
  sweepIndex = -1;
  /** It stays in the sweep while in use, until the next check: most are idle again by then. */
  isIdle = true;
  readonly socket: WireSocket;
  readonly place: Place;
  readonly inPort = new Link<Idle>(this);
  readonly inSaid = new Link<Idle>(this);
  readonly inPod = new Link<Idle>(this);
  readonly inNamespace = new Link<Idle>(this);
  readonly inAll = new Link<Idle>(this);
  /** Set while idle. */
  shelf: PortShelf<Idle> | undefined;
  /** Whether the server stated its timeout. Otherwise only safe methods are sent. */
  isSaid = false;
  /** Whether its last request had a body. */
  hadBody = false;
  readonly #pool: Pick<Pool, "leave" | "giveBack">;
  #restedAt: ClockReading = { wallMs: 0, ticksMs: 0 };
  #lifeMs = 0;

  constructor(socket: WireSocket, place: Place, pool: Pick<Pool, "leave" | "giveBack">) {
    this.socket = socket;
    this.place = place;
    this.#pool = pool;
  }

  rest(now: ClockReading, lifeMs: number, said: boolean): void {
    this.isIdle = true;
    this.#restedAt = now;
    this.#lifeMs = lifeMs;
    this.isSaid = said;
  }

  /** It is no longer idle, and counts in no limit. */
  use(): void {
    this.isIdle = false;
    this.inPort.leave();
    this.inSaid.leave();
    this.inPod.leave();
    this.inNamespace.leave();
    this.inAll.leave();
  }

  isGood(now: ClockReading): boolean {
    return isUsable(this.socket) && ageMs(this.#restedAt, now) < this.#lifeMs;
  }

  #isOver(nowMs: number): boolean {
    return !isUsable(this.socket) || nowMs - this.#restedAt.ticksMs >= this.#lifeMs;
  }

  check(nowMs: number): void {
    if (!this.isIdle || this.#isOver(nowMs) || this.shelf?.makesRoom(nowMs)) this.#pool.leave(this);
    else if (this.shelf) this.#pool.giveBack(this.shelf, this.shelf.idleMax(nowMs));
  }
}

const isUsable = (socket: WireSocket) => !socket.destroyed && socket.writable && !socket.readableEnded;

/** The `timeout` of a `Keep-Alive` header, in milliseconds. */
export function keepAliveMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const match = /(?:^|,)\s*timeout\s*=\s*"?(\d{1,6})/i.exec(value);
  return match ? Number(match[1]) * 1000 : undefined;
}
