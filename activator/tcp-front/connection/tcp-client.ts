import type { Clock } from "../../../lib/time/clock.ts";
import { peerAddress } from "../../socket/peer-address.ts";
import type { Introduction } from "../../socket/proxy-protocol/awaited-header.ts";
import { joined, ownCopy } from "../../socket/read-place.ts";
import type { SocketReader, WireSocket } from "../../socket/wire-socket.ts";

/** The maximum bytes read from a waiting client: enough to notice that it leaves. */
const earlyBytesMax = 4_096;
/** The read buffer of all waiting clients: bytes are copied before the next read. */
export const earlyPlace: Buffer = Buffer.allocUnsafeSlow(earlyBytesMax);

/** How long a silent client may wait after it ended its side: it may wait for a greeting, or be gone. Milliseconds. */
const halfClosedGraceMs = 100;

/** A client that has said more than that it is there. */
export interface TcpClientOptions {
  /** What it has sent before. */
  readonly early?: Buffer;
  /** Its side must stay open for a conversation, as with TLS: a client that ends it has left. */
  readonly leavesByEnd?: boolean;
  /** What its PROXY header said. */
  readonly introduction?: Introduction | undefined;
}

/** What a client sent while it waited. */
export interface Early {
  readonly bytes: Buffer;
  /** The client ended its side, and may still listen. */
  readonly ended: boolean;
}

/**
 * A connection that waits for its sandbox.
 *
 *   waiting ──handOver──▶ handed over                      (the tunnel reads the socket from then on)
 *      └──── reset, or an end before any byte ──▶ left      (an end is answered by a reset: nothing was sent to it)
 *
 * An end behind bytes may be half of a conversation, as with `echo ping | nc`, and is kept for the sandbox. An end behind
 * nothing is soon taken for a client that gave up.
 */
export class TcpClient implements SocketReader {
  readonly socket: WireSocket;
  readonly seenMs: number;
  /** The address of the TCP peer, which decides whether it may connect. */
  readonly peer: string;
  /** The address of the client for logs, by its PROXY header; else `peer`. */
  readonly clientIp: string;
  readonly #headerBytes: number;
  readonly #clock: Clock;
  readonly #leavesByEnd: boolean;
  /** The most that is kept of it while it waits. */
  readonly keptBytesMax: number;
  #early: Buffer | undefined;
  #inputEnded = false;
  #left = false;
  #onLeave: (() => void) | undefined;

  constructor(socket: WireSocket, clock: Clock, options: TcpClientOptions = {}) {
    const { early, leavesByEnd = false, introduction } = options;
    this.socket = socket;
    this.seenMs = clock.ticksMs();
    this.peer = peerAddress(socket);
    this.clientIp = introduction?.clientIp ?? this.peer;
    this.#headerBytes = introduction?.headerBytes ?? 0;
    this.#clock = clock;
    this.#early = early;
    this.#leavesByEnd = leavesByEnd;
    this.keptBytesMax = (early?.length ?? 0) + earlyBytesMax;
  }

  /** How many bytes the client has sent. */
  get bytesIn(): number {
    return this.socket.bytesRead - this.#headerBytes;
  }

  get left(): boolean {
    return this.#left;
  }

  onLeave(listener: (() => void) | undefined): void {
    this.#onLeave = listener;
  }

  /** From now on another reader reads the socket. */
  handOver(reader: SocketReader): Early {
    this.socket.reader = reader;
    const bytes = this.#early ?? Buffer.alloc(0);
    this.#early = undefined;
    return { bytes, ended: this.#inputEnded };
  }

  /** Ends it so that the client sees a failure, and not an empty response. */
  refuse(): void {
    this.socket.reset();
  }

  nextBuffer(): Buffer {
    return earlyPlace;
  }

  get wantsMore(): boolean {
    return (this.#early?.length ?? 0) < this.keptBytesMax;
  }

  take(bytes: Buffer, length: number): void {
    const read = bytes.subarray(0, length);
    this.#early = this.#early ? joined(this.#early, read) : ownCopy(read);
  }

  ended(): void {
    this.#inputEnded = true;
    if (this.#leavesByEnd) return this.#leave();
    if (this.#early) return;
    this.#clock.after(halfClosedGraceMs, () => {
      if (this.socket.reader === this) this.#leave();
    });
  }

  /** It has left now, and not only once the close is reported: its sandbox must get nothing more for it. */
  #leave(): void {
    this.socket.reset();
    this.closed();
  }

  drained(): void {}

  /** Nothing is written to a client that waits. */
  writeFailed(): boolean {
    return false;
  }

  closed(): void {
    if (this.#left) return;
    this.#left = true;
    this.#early = undefined;
    this.#onLeave?.();
  }
}
