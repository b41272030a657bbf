import { SetsByKey } from "../../lib/data/sets-by-key.ts";
import { onAbort } from "../../lib/guard/on-abort.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { forEachYielding } from "../../lib/time/yielding.ts";
import { addressKey, type PodAddress } from "../pod-connections/place.ts";
import type { RequestHead } from "../request.ts";
import type { Target } from "../sandbox/resolve.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import { Dial, DialError, type DialListener, dial } from "./dial.ts";
import { DialGate } from "./dial-gate.ts";

/** A connection to a Pod on which this request has sent nothing yet. */
export interface Upstream {
  readonly target: Target;
  readonly socket: WireSocket;
  /** Other requests use the connection, too. */
  readonly isShared?: boolean;
}

const noProbes: Target["probes"] = [];

/** A connection may stay open for days, so the probes are dropped: they are parts of one version of the Pod. */
export const upstreamOf = (target: Target, socket: WireSocket): Upstream => ({
  target: target.probes.length === 0 ? target : { ...target, probes: noProbes },
  socket,
});

// A listen queue is 128 places deep on older kernels, and the Pod has other clients.
const dialsAtOnce = 64;

/** Returns an idle connection of an earlier request, if it is safe for this request. */
export type TakeIdle = (target: Target, head: RequestHead) => WireSocket | undefined;

export interface ConnectOptions {
  /** Aborts when the client left or its time is up. */
  readonly signal: AbortSignal;
  /** Called when the dial gate opens. False: do not dial. Absent: always dial. */
  readonly mayDial?: () => boolean;
}

/** Provides connections to Pods. */
export class Connector {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #takeIdle: TakeIdle;
  readonly #gate = new DialGate(dialsAtOnce);
  /** What ends each dial, by address. */
  readonly #dialling = new SetsByKey<() => void>();

  constructor(connectTimeoutMs: number, takeIdle: TakeIdle, clock: Clock) {
    this.#clock = clock;
    this.#limitMs = connectTimeoutMs;
    this.#takeIdle = takeIdle;
  }

  /** An idle connection, for an HTTP request alone; undefined without one. */
  idle(target: Target, head: RequestHead | undefined): Upstream | undefined {
    const socket = head && this.#takeIdle(target, head);
    return socket && upstreamOf(target, socket);
  }

  /** @throws DialError if the dial failed, timed out, or `mayDial` returned false; the signal's reason once it is aborted. */
  async connect(target: Target, head: RequestHead | undefined, { signal, mayDial }: ConnectOptions): Promise<Upstream> {
    const idle = this.idle(target, head);
    if (idle) return idle;
    signal.throwIfAborted();
    const over = new AbortController();
    using _leaving = onAbort(signal, () => over.abort(signal.reason));
    using _losing = this.#dialling.add(addressKey(target), () =>
      over.abort(new DialError(target, { timedOut: false })),
    );
    return await this.#gate.run(`${addressKey(target)} ${target.port}`, over.signal, async () => {
      // A connection may have become idle during the wait for the gate.
      const returned = this.idle(target, head);
      if (returned) return returned;
      // Another dial may have failed meanwhile. A queue of requests must not each wait for the same time limit.
      if (mayDial?.() === false) throw new DialError(target, { timedOut: true });
      return upstreamOf(target, await dial(target, this.#limitMs, this.#clock, over.signal));
    });
  }

  /** A Pod has lost this address: the dials to it end in turns, and so do those that wait for the gate. */
  addressLost(address: PodAddress): void {
    void forEachYielding(this.#dialling.take(addressKey(address)), (end) => end());
  }

  /** Dials without the gate. The caller limits its dials. */
  begin(target: Target, listener: DialListener): Dial {
    return new Dial(target, this.#limitMs, this.#clock, listener);
  }
}
