import type { Clock } from "../../lib/clock.ts";
import type { RequestHead } from "../request.ts";
import type { Target } from "../sandbox/look.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import { Dial, type DialListener, dial } from "./dial.ts";
import { DialGate } from "./dial-gate.ts";

/** A connection to a Pod on which this request has sent nothing yet. */
export interface Upstream {
  readonly target: Target;
  readonly socket: WireSocket;
}

// A listen queue is 128 places deep on older kernels, and the Pod has other clients.
const dialsAtOnce = 64;

/** An idle connection of an earlier request that this one may use without a risk of being lost on it. */
export type TakeIdle = (target: Target, head: RequestHead) => WireSocket | undefined;

/** Finds or makes connections to Pods. */
export class Connector {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #takeIdle: TakeIdle;
  readonly #gate = new DialGate(dialsAtOnce);

  constructor(connectTimeoutMs: number, takeIdle: TakeIdle, clock: Clock) {
    this.#clock = clock;
    this.#limitMs = connectTimeoutMs;
    this.#takeIdle = takeIdle;
  }

  /** A connection that is there already, if one is; only an HTTP request can follow another on one. */
  idle(target: Target, head: RequestHead | undefined): Upstream | undefined {
    const socket = head && this.#takeIdle(target, head);
    return socket && { target, socket };
  }

  /** @throws DialError when there is no connection in time; the signal's reason once it is aborted. */
  async connect(target: Target, head: RequestHead | undefined, signal: AbortSignal): Promise<Upstream> {
    const idle = this.idle(target, head);
    if (idle) return idle;
    // Whoever waited in the queue may find that one before has let go of a connection meanwhile.
    return this.#gate.run(`${target.podUid} ${target.port}`, async () => {
      const returned = this.idle(target, head);
      return returned ?? { target, socket: await dial(target, this.#limitMs, this.#clock, signal) };
    });
  }

  /** Begins a connection of its own for a caller who sees to it how many there are at a time. */
  begin(target: Target, listener: DialListener): Dial {
    return new Dial(target, this.#limitMs, this.#clock, listener);
  }
}
