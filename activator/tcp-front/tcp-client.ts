import type { Clock } from "../../lib/clock.ts";
import type { SocketReader, WireSocket } from "../socket/wire-socket.ts";
import { peerAddress } from "./peers.ts";

/** What is read of a client that waits: enough to notice that it leaves. */
const earlyBytesMax = 4_096;
/** Where it is read to, for all of them: it is copied before the next is read. */
export const earlyPlace: Buffer = Buffer.allocUnsafeSlow(earlyBytesMax);

/** A client that has said nothing and ends its side may wait for a greeting, or be gone: who is not served by then is gone. */
const halfClosedGraceMs = 100;

export interface TcpClientOptions {
  readonly clock: Clock;
  readonly onClosed: () => void;
}

/** What a client said while it waited. */
export interface Early {
  readonly bytes: Buffer;
  /** It has said all it has to say, and may still listen. */
  readonly ended: boolean;
}

/**
 * A connection that waits to be carried.
 *
 *   waiting ──handOver──▶ carried                          (who carries reads the socket from then on)
 *      └──── reset, or an end before any byte ──▶ left
 *
 * An end behind bytes may be half of a conversation, as with `echo ping | nc`, and is kept for the sandbox. An end behind
 * nothing is soon taken for a client that gave up.
 */
export class TcpClient implements SocketReader {
  readonly socket: WireSocket;
  readonly seenMs: number;
  readonly peer: string;
  readonly #options: TcpClientOptions;
  #early: Buffer | undefined;
  #inputEnded = false;
  #left = false;
  #onLeave: (() => void) | undefined;

  constructor(socket: WireSocket, options: TcpClientOptions) {
    this.socket = socket;
    this.seenMs = options.clock.ticksMs();
    this.peer = peerAddress(socket.remoteAddress ?? "");
    this.#options = options;
  }

  get left(): boolean {
    return this.#left;
  }

  onLeave(listener: (() => void) | undefined): void {
    this.#onLeave = listener;
  }

  /** From now on somebody else reads the socket. */
  handOver(reader: SocketReader): Early {
    this.socket.reader = reader;
    const bytes = this.#early ?? Buffer.alloc(0);
    this.#early = undefined;
    return { bytes, ended: this.#inputEnded };
  }

  /** Ends it so that the client sees a failure, and not an answer of no bytes. */
  refuse(): void {
    this.socket.resetAndDestroy();
  }

  nextBuffer(): Buffer {
    return earlyPlace;
  }

  take(bytes: Buffer, length: number): boolean {
    const read = bytes.subarray(0, length);
    this.#early = this.#early ? Buffer.concat([this.#early, read]) : Buffer.from(read);
    return this.#early.length < earlyBytesMax;
  }

  ended(): void {
    this.#inputEnded = true;
    if (this.#early) return;
    this.#options.clock.after(halfClosedGraceMs, () => {
      if (this.socket.reader === this) this.socket.destroy();
    });
  }

  drained(): void {}

  closed(): void {
    this.#left = true;
    this.#early = undefined;
    this.#onLeave?.();
    this.#options.onClosed();
  }
}
