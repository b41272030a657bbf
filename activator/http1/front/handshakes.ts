import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
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
  /** Called at the end of each handshake, whatever its outcome. */
  readonly onEnded: () => void;
}

/** How long a handshake in progress may continue after the front stopped accepting, in milliseconds. */
const lastHandshakesMs = 1_000;

/**
 * Accepted connections whose TLS handshake is in progress. Each is closed at its limit: Node only reports the limit and leaves
 * the socket open. The limit counts from the connection, so slow bytes do not extend it.
 */
export class Handshakes {
  readonly #options: HandshakesOptions;
  readonly #all = new Set<Handshake>();
  /** By local and remote address, which the TLS socket shares. */
  readonly #byEnds = new Map<string, Handshake>();

  constructor(options: HandshakesOptions) {
    this.#options = options;
  }

  /** The number of handshakes in progress. */
  get size(): number {
    return this.#all.size;
  }

  begin(raw: Socket): void {
    const { clock, sweep, limitMs } = this.#options;
    const ends = endsOf(raw);
    const dueMs = clock.ticksMs() + limitMs;
    const handshake = new Handshake(raw, dueMs);
    this.#all.add(handshake);
    this.#byEnds.set(ends, handshake);
    sweep.add(handshake);
    raw.once("close", () => {
      if (!this.#remove(handshake, ends)) return;
      if (!handshake.wasCut) this.#options.onFailed(clock.ticksMs() >= handshake.dueMs ? "timedOut" : "failed");
      this.#options.onEnded();
    });
  }

  /** The handshake succeeded. The connection is the caller's from now on; call this before any other event may end it. */
  succeeded(secured: TLSSocket): void {
    const ends = endsOf(secured);
    const handshake = this.#byEnds.get(ends);
    if (handshake) this.#remove(handshake, ends);
  }

  /** Stops accepting: silent connections are closed now, handshakes in progress after a grace. */
  finish(): void {
    const lastMs = this.#options.clock.ticksMs() + lastHandshakesMs;
    for (const handshake of this.#all) {
      if (handshake.raw.bytesRead === 0) handshake.cut();
      else handshake.dueMs = Math.min(handshake.dueMs, lastMs);
    }
  }

  cutAll(): void {
    for (const handshake of this.#all) handshake.cut();
  }

  #remove(handshake: Handshake, ends: string): boolean {
    if (this.#byEnds.get(ends) === handshake) this.#byEnds.delete(ends);
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

/** With several local addresses, one client port may be connected to each. */
const endsOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;
