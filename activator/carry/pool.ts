import type { Socket } from "node:net";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { RequestHead } from "../request.ts";
import type { Target } from "../sandbox/look.ts";

/** What a server may do with an idle connection when it does not say: common ones close after 5 s. */
const unsaidLifeMs = 4_000;
/** Of a server's word so much is trusted; its clock began before ours and its FIN is on the way for a while. */
const trustedShare = 0.5;
const longestLifeMs = 90_000;

/** Repeating them changes nothing (RFC 9110, 9.2.1), so that losing one on a dying connection is only a failure. */
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

interface Idle {
  readonly socket: Socket;
  readonly sinceMs: number;
  /** What the server said in `Keep-Alive: timeout`, in milliseconds. */
  readonly saidMs: number | undefined;
  readonly timer: Timer;
  readonly remove: () => void;
}

/**
 * Idle connections to Pods, by Pod UID and port; they die with the Pod. Nothing that was sent is ever sent again, so
 * a request goes out on one of them only where the far side is not about to close it.
 */
export class Pool {
  readonly #clock: Clock;
  readonly #longest: number;
  readonly #pods = new Map<string, Map<number, Idle[]>>();

  /** `longest`: idle connections for each port of a Pod; 0 means that none is kept. */
  constructor(longest: number, clock: Clock) {
    this.#longest = longest;
    this.#clock = clock;
  }

  /** The connection that was used last, if it is safe for this request; undefined asks for a fresh one. */
  take({ podUid, port }: Pick<Target, "podUid" | "port">, head: RequestHead): Socket | undefined {
    if (head.upgrade) return undefined;
    const idle = this.#pods.get(podUid)?.get(port) ?? [];
    for (const candidate of idle.toReversed()) {
      if (!isSafe(candidate, head.method, this.#clock.ticksMs())) continue;
      candidate.remove();
      return candidate.socket;
    }
    return undefined;
  }

  /** Keeps a connection whose response has been read to its end. */
  put({ podUid, port }: Pick<Target, "podUid" | "port">, socket: Socket, saidMs: number | undefined): void {
    const ports = this.#pods.get(podUid) ?? new Map<number, Idle[]>();
    const idle = ports.get(port) ?? [];
    const lifeMs = Math.min(saidMs === undefined ? unsaidLifeMs : saidMs * trustedShare, longestLifeMs);
    if (socket.destroyed || !socket.writable || idle.length >= this.#longest || lifeMs <= 0) {
      return void socket.destroy();
    }
    const drop = () => socket.destroy();
    const remove = () => {
      timer.cancel();
      socket.off("data", drop).off("end", drop).off("close", remove);
      idle.splice(idle.indexOf(entry), 1);
      if (idle.length === 0) ports.delete(port);
      if (ports.size === 0) this.#pods.delete(podUid);
    };
    const timer = this.#clock.after(lifeMs, drop);
    const entry: Idle = { socket, sinceMs: this.#clock.ticksMs(), saidMs, timer, remove };
    // Reading shows the far side's close; bytes that nobody asked for would be taken for the next response.
    socket.on("data", drop).on("end", drop).once("close", remove).resume();
    idle.push(entry);
    ports.set(port, idle);
    this.#pods.set(podUid, ports);
  }

  /** Closes what leads to a Pod that is gone: its address may be another's next. */
  forgetPod(podUid: string): void {
    const all = [...(this.#pods.get(podUid)?.values() ?? [])].flat();
    for (const { socket } of all) socket.destroy();
  }

  get size(): number {
    return [...this.#pods.values()].reduce((sum, ports) => sum + [...ports.values()].flat().length, 0);
  }

  [Symbol.dispose](): void {
    for (const podUid of [...this.#pods.keys()]) this.forgetPod(podUid);
  }
}

// Silence about its timeout is doubt, and in doubt only what does no harm goes out.
function isSafe({ socket, saidMs, sinceMs }: Idle, method: string, nowMs: number): boolean {
  if (socket.destroyed || !socket.writable || socket.readableEnded) return false;
  const lifeMs = saidMs === undefined ? unsaidLifeMs : saidMs * trustedShare;
  return (saidMs !== undefined || safeMethods.has(method)) && nowMs - sinceMs < lifeMs;
}

/** The `timeout` of a `Keep-Alive` header in milliseconds. */
export function keepAliveMs(value: string | undefined): number | undefined {
  const match = /(?:^|,)\s*timeout\s*=\s*"?(\d{1,6})/i.exec(value ?? "");
  return match ? Number(match[1]) * 1000 : undefined;
}
