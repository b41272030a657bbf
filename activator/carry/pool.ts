import type { Clock } from "../../lib/clock.ts";
import type { RequestHead } from "../request.ts";
import type { Target } from "../sandbox/look.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import { Sweep, type Watched } from "../sweep.ts";

/** What a server may do with an idle connection when it does not say: common ones close after 5 s. */
const unsaidLifeMs = 4_000;
/** Of a server's word so much is trusted; its clock began before ours and its FIN is on the way for a while. */
const trustedShare = 0.5;
const longestLifeMs = 90_000;

/** Repeating them changes nothing (RFC 9110, 9.2.1), so that losing one on a dying connection is only a failure. */
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

type Place = Pick<Target, "podUid" | "port">;

/**
 * Idle connections to Pods, by Pod UID and port; they die with the Pod. Nothing that was sent is ever sent again, so
 * a request goes out on one of them only where the far side is not about to close it. Who puts a connection here has
 * its reader close it when it ends, or when its server speaks unasked.
 */
export class Pool {
  readonly #clock: Clock;
  readonly #sweep: Sweep;
  readonly #longest: number;
  readonly #pods = new Map<string, Map<number, Idle[]>>();
  /** One for each connection, idle or not: many rest a thousand times. */
  readonly #entries = new WeakMap<WireSocket, Idle>();

  /** `longest`: idle connections for each port of a Pod; 0 means that none is kept. */
  constructor(longest: number, clock: Clock) {
    this.#longest = longest;
    this.#clock = clock;
    this.#sweep = new Sweep(clock);
  }

  /** The connection that was used last, if it is safe for this request; undefined asks for a fresh one. */
  take({ podUid, port }: Place, head: RequestHead): WireSocket | undefined {
    if (head.upgrade) return undefined;
    const idle = this.#pods.get(podUid)?.get(port);
    if (!idle) return undefined;
    const nowMs = this.#clock.ticksMs();
    for (let at = idle.length - 1; at >= 0; at -= 1) {
      const candidate = idle[at];
      if (!candidate?.isSafe(head.method, nowMs)) continue;
      candidate.isIdle = false;
      if (at === idle.length - 1) idle.pop();
      else idle.splice(at, 1);
      return candidate.socket;
    }
    return undefined;
  }

  /** Keeps a connection whose response has been read to its end. */
  put(place: Place, socket: WireSocket, saidMs: number | undefined): void {
    const idle = this.#idleOf(place);
    const lifeMs = Math.min(saidMs === undefined ? unsaidLifeMs : saidMs * trustedShare, longestLifeMs);
    if (!isUsable(socket) || idle.length >= this.#longest || lifeMs <= 0) return void socket.destroy();
    const entry = this.#entryOf(socket, place);
    entry.rest(this.#clock.ticksMs() + lifeMs, saidMs !== undefined);
    idle.push(entry);
    this.#sweep.add(entry);
    socket.resume(); // reading shows the far side's close
  }

  /** Closes what leads to a Pod that is gone: its address may be another's next. */
  forgetPod(podUid: string): void {
    const ports = this.#pods.get(podUid);
    this.#pods.delete(podUid);
    for (const entry of [...(ports?.values() ?? [])].flat()) {
      this.#sweep.remove(entry);
      entry.socket.destroy();
    }
  }

  /** Connections that are open and idle. */
  get size(): number {
    const all = [...this.#pods.values()].flatMap((ports) => [...ports.values()].flat());
    return all.filter(({ socket }) => isUsable(socket)).length;
  }

  [Symbol.dispose](): void {
    for (const podUid of [...this.#pods.keys()]) this.forgetPod(podUid);
    this.#sweep[Symbol.dispose]();
  }

  #idleOf({ podUid, port }: Place): Idle[] {
    const ports = this.#pods.get(podUid) ?? new Map<number, Idle[]>();
    if (ports.size === 0) this.#pods.set(podUid, ports);
    const idle = ports.get(port) ?? [];
    if (idle.length === 0) ports.set(port, idle);
    return idle;
  }

  #entryOf(socket: WireSocket, place: Place): Idle {
    const known = this.#entries.get(socket);
    if (known) return known;
    const entry = new Idle(socket, place, this);
    this.#entries.set(socket, entry);
    return entry;
  }

  /** It has been taken, or its time is over. */
  leave(entry: Idle): void {
    if (!entry.isIdle) return this.#sweep.remove(entry);
    entry.socket.destroy();
    this.#forget(entry.place, entry);
  }

  #forget({ podUid, port }: Place, entry: Idle): void {
    this.#sweep.remove(entry);
    const ports = this.#pods.get(podUid);
    const idle = ports?.get(port);
    if (!ports || !idle) return;
    const at = idle.indexOf(entry);
    if (at >= 0) idle.splice(at, 1);
    if (idle.length > 0) return;
    ports.delete(port);
    if (ports.size === 0) this.#pods.delete(podUid);
  }
}

class Idle implements Watched {
  sweepIndex = -1;
  /** It stays in the sweep while it is in use, until the next look: most are back by then. */
  isIdle = true;
  readonly socket: WireSocket;
  readonly place: Place;
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

  // Silence about its timeout is doubt, and in doubt only what does no harm goes out.
  isSafe(method: string, nowMs: number): boolean {
    return isUsable(this.socket) && (this.#said || safeMethods.has(method)) && nowMs < this.#untilMs;
  }

  check(nowMs: number): void {
    if (!this.isIdle || !isUsable(this.socket) || nowMs >= this.#untilMs) this.#pool.leave(this);
  }
}

const isUsable = (socket: WireSocket) => !socket.destroyed && socket.writable && !socket.readableEnded;

/** The `timeout` of a `Keep-Alive` header in milliseconds. */
export function keepAliveMs(value: string | undefined): number | undefined {
  const match = /(?:^|,)\s*timeout\s*=\s*"?(\d{1,6})/i.exec(value ?? "");
  return match ? Number(match[1]) * 1000 : undefined;
}
