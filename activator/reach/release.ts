import type { Timer } from "../../lib/clock.ts";
import type { RequestHead } from "../request.ts";
import type { Target } from "../sandbox/look.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import type { Upstream } from "./connector.ts";
import type { Dial, DialError, DialListener } from "./dial.ts";
import type { Surroundings } from "./errand.ts";
import type { Line } from "./line.ts";

/** One of those who are let go. */
export interface Taker {
  readonly head: RequestHead | undefined;
  /** Takes a connection; false: it was closed instead, and what is known must be looked at anew. */
  take(upstream: Upstream): boolean;
  dialFailed(error: DialError): void;
}

/**
 * How many connections are made: so many at once, for a program that has just started, and twice as many after each
 * step. Who is answered in the meantime leaves an idle connection, which costs nobody anything.
 */
const freshAtFirst = 64;
const doubleAfterMs = 40;
/** Dials under way at a time, where all goes well. */
const dialsAtMost = 256;
/** A dial that took so long was sent twice: the listen queue was full, and fewer at a time get through sooner. */
const crowdedAfterMs = 250;
/** When there was nothing to do it is looked again after so long. */
const pauseMs = 2;
/** What is begun or handed out in one turn of the loop, which others need meanwhile: each is a tenth of a millisecond. */
const inOneTurn = 32;

/**
 * Brings those who wait to a port that accepts, the first who came first. A connection belongs to nobody until it is
 * there, so nobody is overtaken because a dial of theirs took longer.
 */
export class Release implements DialListener {
  readonly #line: Line<Taker>;
  readonly #target: Target;
  readonly #around: Pick<Surroundings, "connector" | "prober" | "clock">;
  /** When each dial under way began. */
  readonly #dials = new Map<Dial, number>();
  /** Made, and nobody's yet: hundreds may be there at once. */
  readonly #made: WireSocket[] = [];
  readonly #stopped = Promise.withResolvers<void>();
  readonly #beganMs: number;
  #window = freshAtFirst;
  #fresh = 0;
  #pause: Timer | undefined;
  #isTurnDue = false;
  #isOver = false;

  constructor(line: Line<Taker>, target: Target, around: Pick<Surroundings, "connector" | "prober" | "clock">) {
    this.#line = line;
    this.#target = target;
    this.#around = around;
    this.#beganMs = around.clock.ticksMs();
  }

  /** Resolves when nobody waits any more, or when it is time to look again; `proof` has shown that the port accepts. */
  run(proof: WireSocket | undefined): Promise<void> {
    if (proof) this.#made.push(proof);
    this.#turn();
    return this.#stopped.promise;
  }

  connected(socket: WireSocket, dial: Dial): void {
    const tookMs = this.#around.clock.ticksMs() - (this.#dials.get(dial) ?? 0);
    this.#dials.delete(dial);
    if (tookMs > crowdedAfterMs) this.#window = Math.max(this.#window >> 1, 1);
    else this.#window = Math.min(this.#window + 1, dialsAtMost);
    this.#made.push(socket);
    this.#turnLater();
  }

  failed(error: DialError, dial: Dial): void {
    this.#dials.delete(dial);
    this.#around.prober.forget(this.#target);
    this.#line.first?.dialFailed(error);
    this.stop();
  }

  /** Gives up what is under way: nothing was sent on it. */
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
      this.#turn();
    });
  }

  #turn(): void {
    const handedOut = this.#handOutSome();
    if (this.#isOver) return;
    if (this.#line.size === 0) return this.stop();
    const begun = this.#dialFresh(inOneTurn - handedOut);
    if (handedOut + begun > 0) return this.#turnLater();
    this.#pause?.cancel();
    this.#pause = this.#around.clock.after(pauseMs, () => this.#turn());
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

  /** A connection that was made, or one of those who were let go first and are done already. */
  #next({ head }: Taker): Upstream | undefined {
    const socket = this.#made.shift();
    return socket ? { target: this.#target, socket } : this.#around.connector.idle(this.#target, head);
  }

  #dialFresh(most: number): number {
    const { connector, clock } = this.#around;
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
