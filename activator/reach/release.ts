import type { RequestHead } from "../request.ts";
import type { Target } from "../sandbox/look.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import type { Upstream } from "./connector.ts";
import type { Dial, DialError, DialListener } from "./dial.ts";
import type { Line } from "./line.ts";
import type { Surroundings } from "./reach.ts";

/** One of those who are let go. */
export interface Taker {
  readonly head: RequestHead | undefined;
  /** Takes a connection; false: it was closed instead, and what is known must be looked at anew. */
  take(upstream: Upstream): boolean;
  dialFailed(error: DialError): void;
}

/** Dials under way: few at first, for a program that has just started, and one more for each that succeeds. */
const dialsAtFirst = 16;
const dialsAtMost = 256;
/** A dial that took so long was sent twice: the listen queue was full, and fewer at a time get through sooner. */
const crowdedAfterMs = 250;
/** What is begun or handed out in one turn of the loop, which others need meanwhile. */
const inOneTurn = 64;

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
  readonly #stopped = Promise.withResolvers<void>();
  #window = dialsAtFirst;
  #isTurnDue = false;
  #isOver = false;

  constructor(line: Line<Taker>, target: Target, around: Pick<Surroundings, "connector" | "prober" | "clock">) {
    this.#line = line;
    this.#target = target;
    this.#around = around;
  }

  /** Resolves when nobody waits any more, or when it is time to look again; `proof` has shown that the port accepts. */
  run(proof: WireSocket | undefined): Promise<void> {
    if (proof) this.#handOut({ target: this.#target, socket: proof });
    this.#turn();
    return this.#stopped.promise;
  }

  connected(socket: WireSocket, dial: Dial): void {
    const tookMs = this.#around.clock.ticksMs() - (this.#dials.get(dial) ?? 0);
    this.#dials.delete(dial);
    if (tookMs > crowdedAfterMs) this.#window = Math.max(this.#window >> 1, 1);
    else this.#window = Math.min(this.#window + 1, dialsAtMost);
    this.#handOut({ target: this.#target, socket });
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
    for (const dial of this.#dials.keys()) dial.cancel();
    this.#dials.clear();
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
    let left = inOneTurn;
    // Those who were let go first may be done already, and their connections idle.
    for (; left > 0 && !this.#isOver; left -= 1) {
      const first = this.#line.first;
      const idle = first && this.#around.connector.idle(this.#target, first.head);
      if (!idle) break;
      this.#handOut(idle);
    }
    if (this.#isOver) return;
    if (this.#line.size === 0) return this.stop();
    const wanted = Math.min(this.#window, this.#line.size) - this.#dials.size;
    const { connector, clock } = this.#around;
    const nowMs = clock.ticksMs();
    for (let begun = 0; begun < Math.min(wanted, left); begun += 1) {
      this.#dials.set(connector.begin(this.#target, this), nowMs);
    }
    if (wanted >= left) this.#turnLater();
  }

  #handOut(upstream: Upstream): void {
    const { socket } = upstream;
    const first = this.#line.first;
    if (!first || socket.destroyed || !socket.writable) socket.destroy();
    else if (!first.take(upstream)) this.stop();
  }
}
