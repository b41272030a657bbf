import type { Clock } from "../../lib/time/clock.ts";
import type { RequestHead } from "../request.ts";
import type { Target } from "../sandbox/resolve.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import { Sweep, type Watched } from "../sweep.ts";
import { IdleList, Link } from "./idle-list.ts";

/** How long an idle connection is kept if the server states no timeout, in milliseconds. Common servers close after 5 s. */
const unsaidLifeMs = 4_000;
/** The fraction of a server's stated timeout that is used: its clock began before ours, and its FIN needs time to arrive. */
const trustedShare = 0.5;
const longestLifeMs = 90_000;

/** A repeated request of these methods changes nothing (RFC 9110, 9.2.1), so its loss on a closing connection is only a failure. */
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

type Place = Pick<Target, "namespace" | "podUid" | "port">;

/** The maximum number of idle connections. */
export interface IdleLimits {
  /** To one port of a Pod; 0: no idle connections. */
  readonly perPort: number;
  readonly perPod: number;
  readonly perNamespace: number;
  readonly total: number;
}

const perPodMax = 100;
const perNamespaceMax = 5_000;
const totalMax = 10_000;
/** The fraction of all sockets that may be idle: while too few are left, no client is accepted. */
const socketsShare = 0.25;

/** Limits for `perPort` connections to each port, in a process that may open `sockets`; absent: unlimited. */
export function idleLimits(perPort: number, sockets: number = Number.POSITIVE_INFINITY): IdleLimits {
  const total = Math.min(totalMax, Math.max(Math.floor(sockets * socketsShare), 1));
  return { perPort, perPod: Math.max(perPodMax, perPort), perNamespace: Math.min(perNamespaceMax, total), total };
}

/** The idle connections of one Pod. */
class PodShelf {
  readonly all = new IdleList<Idle>();
  readonly ports = new Map<number, IdleList<Idle>>();
}

/**
 * Idle connections to Pods, by Pod UID and port; they are closed when the Pod is gone. No request is ever sent twice, so one is
 * sent on an idle connection only if the far side is not about to close it. The reader of an idle connection must close it at
 * its end, or when the server sends data without a request. Tenants choose the number of ports and Pods, so every limit
 * applies: beyond one, the connection that has been idle longest is closed.
 */
export class Pool {
  readonly #clock: Clock;
  readonly #sweep: Sweep;
  readonly #limits: IdleLimits;
  readonly #all = new IdleList<Idle>();
  readonly #namespaces = new Map<string, IdleList<Idle>>();
  readonly #pods = new Map<string, PodShelf>();
  /** One for each connection, idle or not: many become idle a thousand times. */
  readonly #entries = new WeakMap<WireSocket, Idle>();
  #evicted = 0;

  constructor(limits: IdleLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#sweep = new Sweep(clock);
  }

  /** The most recently used connection, if it is safe for this request; undefined: a new connection is needed. */
  take({ podUid, port }: Place, head: RequestHead): WireSocket | undefined {
    if (head.upgrade) return undefined;
    const idle = this.#pods.get(podUid)?.ports.get(port);
    if (!idle) return undefined;
    const nowMs = this.#clock.ticksMs();
    for (let link = idle.newest; link; link = link.older) {
      const candidate = link.value;
      if (!candidate.isSafe(head.method, nowMs)) continue;
      candidate.use();
      return candidate.socket;
    }
    return undefined;
  }

  /** Keeps a connection whose response was read completely. */
  put(place: Place, socket: WireSocket, saidMs: number | undefined): void {
    const lifeMs = Math.min(saidMs === undefined ? unsaidLifeMs : saidMs * trustedShare, longestLifeMs);
    if (!isUsable(socket) || this.#limits.perPort <= 0 || lifeMs <= 0) return void socket.destroy();
    const entry = this.#entryOf(socket, place);
    entry.rest(this.#clock.ticksMs() + lifeMs, saidMs !== undefined);
    this.#shelve(entry);
    this.#sweep.add(entry);
    socket.readOn(); // reading detects the far side's close
  }

  /** Closes connections to a Pod that is gone: its address may become another Pod's. */
  forgetPod(podUid: string): void {
    const shelf = this.#pods.get(podUid);
    for (const entry of shelf?.all ?? []) this.#close(entry);
    this.#pods.delete(podUid);
  }

  /** The number of Pods with idle connections. */
  get pods(): number {
    return this.#pods.size;
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
    if (entry.isIdle) return this.#close(entry);
    this.#sweep.remove(entry);
    this.#forgetEmpty(entry.place);
  }

  #shelve(entry: Idle): void {
    const { namespace, podUid, port } = entry.place;
    const { perPort, perPod, perNamespace, total } = this.#limits;
    const ofPod = getOrMake(this.#pods, podUid, newShelf);
    const ofPort = getOrMake(ofPod.ports, port, newList);
    const ofNamespace = getOrMake(this.#namespaces, namespace, newList);
    ofPort.join(entry.inPort);
    ofPod.all.join(entry.inPod);
    ofNamespace.join(entry.inNamespace);
    this.#all.join(entry.inAll);
    this.#trim(ofPort, perPort);
    this.#trim(ofPod.all, perPod);
    this.#trim(ofNamespace, perNamespace);
    this.#trim(this.#all, total);
  }

  /** One was added, so at most one is too many. */
  #trim({ size, oldest }: IdleList<Idle>, max: number): void {
    if (size <= max || !oldest) return;
    if (isUsable(oldest.value.socket)) this.#evicted += 1;
    this.#close(oldest.value);
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

  #forgetEmpty({ namespace, podUid, port }: Place): void {
    const pod = this.#pods.get(podUid);
    if (pod?.ports.get(port)?.size === 0) pod.ports.delete(port);
    if (pod?.ports.size === 0) this.#pods.delete(podUid);
    if (this.#namespaces.get(namespace)?.size === 0) this.#namespaces.delete(namespace);
  }
}

const newShelf = () => new PodShelf();
const newList = () => new IdleList<Idle>();

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const value = make();
  map.set(key, value);
  return value;
}

class Idle implements Watched {
  sweepIndex = -1;
  /** It stays in the sweep while in use, until the next check: most are idle again by then. */
  isIdle = true;
  readonly socket: WireSocket;
  readonly place: Place;
  readonly inPort = new Link<Idle>(this);
  readonly inPod = new Link<Idle>(this);
  readonly inNamespace = new Link<Idle>(this);
  readonly inAll = new Link<Idle>(this);
  readonly #pool: Pick<Pool, "leave">;
  #untilMs = 0;
  #said = false;

  constructor(socket: WireSocket, place: Place, pool: Pick<Pool, "leave">) {
    this.socket = socket;
    this.place = place;
    this.#pool = pool;
  }

  rest(untilMs: number, said: boolean): void {
    this.isIdle = true;
    this.#untilMs = untilMs;
    this.#said = said;
  }

  /** It is no longer idle, and counts in no limit. */
  use(): void {
    this.isIdle = false;
    this.inPort.leave();
    this.inPod.leave();
    this.inNamespace.leave();
    this.inAll.leave();
  }

  // Without a stated timeout, only safe methods are sent.
  isSafe(method: string, nowMs: number): boolean {
    return isUsable(this.socket) && (this.#said || safeMethods.has(method)) && nowMs < this.#untilMs;
  }

  check(nowMs: number): void {
    if (!this.isIdle || !isUsable(this.socket) || nowMs >= this.#untilMs) this.#pool.leave(this);
  }
}

const isUsable = (socket: WireSocket) => !socket.destroyed && socket.writable && !socket.readableEnded;

/** The `timeout` of a `Keep-Alive` header, in milliseconds. */
export function keepAliveMs(value: string | undefined): number | undefined {
  const match = /(?:^|,)\s*timeout\s*=\s*"?(\d{1,6})/i.exec(value ?? "");
  return match ? Number(match[1]) * 1000 : undefined;
}
