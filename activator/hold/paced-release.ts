import { runGuarded } from "../../lib/guard/guard.ts";
import type { Timer } from "../../lib/time/clock.ts";
import type { ConnectDeps } from "../connect/connect-request.ts";
import { type Upstream, upstreamOf } from "../connect/connector.ts";
import type { Dial, DialError, DialListener } from "../connect/dial.ts";
import type { RequestHead } from "../request.ts";
import type { Target } from "../sandbox/resolve.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import type { Fifo } from "./fifo.ts";

/** A held request that is released. */
export interface ReleasedRequest {
  readonly head: RequestHead | undefined;
  /** Takes a connection. False: the connection was closed, and the sandbox must be resolved again. */
  take(upstream: Upstream): boolean;
  dialFailed(error: DialError): void;
}

/**
 * The number of new connections: this many at once, for a program that has just started, and twice as many after each step.
 * Requests that end meanwhile leave idle connections, which are reused.
 */
const freshAtFirst = 64;
const doubleAfterMs = 40;
/** The maximum number of concurrent dials. */
const dialsAtMost = 256;
/** A dial that takes this long was retransmitted: the listen queue was full, and fewer concurrent dials get through sooner. */
const crowdedAfterMs = 250;
/** The pause after a turn without work: the shortest at first, doubled up to the longest. In milliseconds. */
const shortestPauseMs = 2;
const longestPauseMs = 32;
/** The maximum number of dials and handovers in one turn of the event loop: each takes about 0.1 ms. */
const inOneTurn = 32;

/**
 * Releases held requests to a port that accepts, in order of arrival. A connection is assigned once it is established, so a
 * slow dial delays no particular request.
 */
export class PacedRelease implements DialListener {
  readonly #line: Fifo<ReleasedRequest>;
  readonly #target: Target;
  readonly #deps: Pick<ConnectDeps, "connector" | "prober" | "clock">;
  /** The start of each dial in progress. */
  readonly #dials = new Map<Dial, number>();
  /** Established and not assigned; there may be hundreds. */
  readonly #made: WireSocket[] = [];
  readonly #stopped = Promise.withResolvers<void>();
  readonly #beganMs: number;
  #window = freshAtFirst;
  #fresh = 0;
  #pauseMs = shortestPauseMs;
  #pause: Timer | undefined;
  #isTurnDue = false;
  #isOver = false;

  constructor(line: Fifo<ReleasedRequest>, target: Target, deps: Pick<ConnectDeps, "connector" | "prober" | "clock">) {
    this.#line = line;
    this.#target = target;
    this.#deps = deps;
    this.#beganMs = deps.clock.ticksMs();
  }

  /**
   * Resolves when the line is empty, or when the sandbox must be resolved again. `proof`: a connection that proved that the
   * port accepts.
   */
  run(proof: WireSocket | undefined): Promise<void> {
    if (proof) this.#made.push(proof);
    this.#turn();
    return this.#stopped.promise;
  }

  connected(socket: WireSocket, dial: Dial): void {
    const tookMs = this.#deps.clock.ticksMs() - (this.#dials.get(dial) ?? 0);
    this.#dials.delete(dial);
    if (tookMs > crowdedAfterMs) this.#window = Math.max(this.#window >> 1, 1);
    else this.#window = Math.min(this.#window + 1, dialsAtMost);
    this.#made.push(socket);
    this.#turnLater();
  }

  failed(error: DialError, dial: Dial): void {
    this.#dials.delete(dial);
    this.#deps.prober.forget(this.#target);
    this.#line.first?.dialFailed(error);
    this.stop();
  }

  /** Cancels all dials and closes unassigned connections: nothing was sent on them. */
  stop(): void {
    this.#isOver = true;
    this.#pause?.cancel();
    for (const dial of this.#dials.keys()) dial.cancel();
    this.#dials.clear();
    for (const socket of this.#made.splice(0)) socket.destroy();
    this.#stopped.resolve();
  }

  #turnLater(): void {
    if (this.#isTurnDue || this.#isOver) return;
    this.#isTurnDue = true;
    setImmediate(() => {
      this.#isTurnDue = false;
      // On an error the remaining requests are resolved again.
      runGuarded(
        "wake",
        () => this.#turn(),
        () => this.stop(),
      );
    });
  }

  #turn(): void {
    const handedOut = this.#handOutSome();
    if (this.#isOver) return;
    if (this.#line.size === 0) return this.stop();
    const begun = this.#dialFresh(inOneTurn - handedOut);
    if (handedOut + begun > 0) {
      this.#pauseMs = shortestPauseMs;
      return this.#turnLater();
    }
    this.#pause?.cancel();
    this.#pause = this.#deps.clock.after(this.#pauseMs, () => this.#turn());
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
  }

  #handOutSome(): number {
    for (let count = 0; ; count += 1) {
      const first = this.#line.first;
      if (count >= inOneTurn || this.#isOver || !first) return count;
      const upstream = this.#next(first);
      if (!upstream) return count;
      this.#handOut(upstream);
    }
  }

  /** An established connection, or an idle connection of an earlier request. */
  #next({ head }: ReleasedRequest): Upstream | undefined {
    const socket = this.#made.shift();
    return socket ? upstreamOf(this.#target, socket) : this.#deps.connector.idle(this.#target, head);
  }

  #dialFresh(most: number): number {
    const { connector, clock } = this.#deps;
    const nowMs = clock.ticksMs();
    const allowed = freshAtFirst * 2 ** ((nowMs - this.#beganMs) / doubleAfterMs);
    const wanted = Math.min(this.#window, this.#line.size) - this.#dials.size - this.#made.length;
    let begun = 0;
    for (; begun < Math.min(wanted, most) && this.#fresh < allowed; begun += 1) {
      this.#dials.set(connector.begin(this.#target, this), nowMs);
      this.#fresh += 1;
    }
    return begun;
  }

  #handOut(upstream: Upstream): void {
    const { socket } = upstream;
    const first = this.#line.first;
    if (!first || socket.destroyed || !socket.writable) socket.destroy();
    else if (!first.take(upstream)) this.stop();
  }
}
