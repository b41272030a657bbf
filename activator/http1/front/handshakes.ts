import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { TurnoverSet } from "../../../lib/data/turnover.ts";
import { tcpSocketOf } from "../../../lib/net/tcp-socket.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { holdDescriptor } from "../../socket/open-sockets.ts";
import type { Sweep, Watched } from "../../sweep.ts";

export const handshakeFailures = ["timedOut", "failed"] as const;
/** Why a TLS connection ended before a request: at the time limit, or by its client or a bad certificate. */
export type HandshakeFailure = (typeof handshakeFailures)[number];

export interface HandshakesOptions {
  readonly clock: Clock;
  readonly sweep: Sweep;
  /** From the connection to the end of its handshake, in milliseconds. */
  readonly limitMs: number;
  readonly onFailed: (failure: HandshakeFailure) => void;
  /** Called at the close of each connection, also of one that found no room after its handshake. */
  readonly onClosed: () => void;
}

/** How long a handshake in progress may continue after the front stopped accepting, in milliseconds. */
const lastHandshakesMs = 1_000;

/**
 * Accepted connections whose TLS handshake is in progress. Each is closed at its limit: Node only reports the limit and leaves
 * the socket open. The limit counts from the connection, so slow bytes do not extend it.
 */
export class Handshakes {
  readonly #options: HandshakesOptions;
  readonly #all = new TurnoverSet<Handshake>();
  readonly #bySocket = new WeakMap<Socket, Handshake>();
  #isFinishing = false;

  constructor(options: HandshakesOptions) {
    this.#options = options;
  }

  /** The number of handshakes in progress. */
  get size(): number {
    return this.#all.size;
  }

  begin(raw: Socket): void {
    const { clock, sweep, limitMs } = this.#options;
    // A connection may have been accepted before, if it began with a PROXY header.
    const dueMs = clock.ticksMs() + (this.#isFinishing ? Math.min(limitMs, lastHandshakesMs) : limitMs);
    const handshake = new Handshake(raw, dueMs);
    this.#all.add(handshake);
    this.#bySocket.set(raw, handshake);
    sweep.add(handshake);
    raw.once("close", () => {
      const hasFailed = this.#remove(handshake) && !handshake.wasCut;
      if (hasFailed) this.#options.onFailed(clock.ticksMs() >= handshake.dueMs ? "timedOut" : "failed");
      this.#options.onClosed();
    });
  }

  /** The handshake succeeded. The connection is the caller's from now on; call this before any other event may end it. */
  succeeded(secured: TLSSocket): void {
    const handshake = this.#bySocket.get(tcpSocketOf(secured));
    if (handshake) this.#remove(handshake);
  }

  /** Stops accepting: silent connections are closed now, handshakes in progress after a grace. */
  finish(): void {
    this.#isFinishing = true;
    const lastMs = this.#options.clock.ticksMs() + lastHandshakesMs;
    for (const handshake of this.#all) {
      if (handshake.raw.bytesRead === 0) handshake.cut();
      else handshake.dueMs = Math.min(handshake.dueMs, lastMs);
    }
  }

  cutAll(): void {
    for (const handshake of this.#all) handshake.cut();
  }

  #remove(handshake: Handshake): boolean {
    this.#options.sweep.remove(handshake);
    handshake.over();
    return this.#all.delete(handshake);
  }
}

class Handshake implements Watched {
  sweepIndex = -1;
  readonly raw: Socket;
  /** Monotonic milliseconds. */
  dueMs: number;
  /** We closed it because the process exits. */
  wasCut = false;
  readonly #descriptor = holdDescriptor();

  constructor(raw: Socket, dueMs: number) {
    this.raw = raw;
    this.dueMs = dueMs;
  }

  check(nowMs: number): void {
    if (nowMs >= this.dueMs) this.raw.destroy();
  }

  cut(): void {
    this.wasCut = true;
    this.raw.destroy();
  }

  /** Its socket is counted elsewhere from now on, or is closed. */
  over(): void {
    this.#descriptor[Symbol.dispose]();
  }
}
