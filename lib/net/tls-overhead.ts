import type { Server, Socket } from "node:net";
import { type TLSSocket, Server as TlsServer } from "node:tls";
import { type Clock, systemClock, type Timer } from "../time/clock.ts";
import { isClientKeyUpdate, KeyUpdateBucket } from "./key-updates.ts";
import { findLostWrite } from "./lost-tls-writes.ts";
import { stopReading } from "./stop-reading.ts";
import { tcpSocketOf } from "./tcp-socket.ts";

/** How many bytes a TLS connection may bring beyond its data and what TLS needs for it. A handshake with certificates takes less. */
const overheadBytesMax = 65_536;
/**
 * How many bytes TLS may need for each byte of data. A record of one byte takes 22 more in TLS 1.3, 29 in TLS 1.2 with AES-GCM, and at
 * most 84, with AES-CBC and SHA-384. So records of any length are in this bound.
 */
const overheadPerByte = 84;

/**
 * How much of the overhead is forgotten in a second after the handshake. A client of TLS 1.3 may pad each of its records up to 16 KiB,
 * to hide their lengths (RFC 8446, 5.4): in a long connection with short messages that has no other bound.
 */
const forgottenPerSecond = 32_768;

const stepMs = 100;
/** How many connections are checked in one step; 5,000 take less than 1 ms. The others follow in the next steps. */
const checkedInStep = 5_000;

export interface TlsOverheadOptions {
  /** Absent: the system's. */
  readonly clock?: Clock | undefined;
  /** Called for each connection that was cut. */
  readonly onCut?: () => void;
}

/**
 * Cuts TLS connections that bring far more bytes than data: KeyUpdate messages of TLS 1.3, or a handshake without end. OpenSSL has no
 * limit for KeyUpdate, and each makes it derive keys. Node tells of them only by its key log, within the read that brings them. So the read
 * ends there, and bytes are counted for all that the key log does not tell. A server without TLS stays as it is.
 *
 * In the same steps it closes connections whose client is gone and whose writes Node has lost, see `findLostWrite`.
 */
export function limitTlsOverhead(server: Server, options: TlsOverheadOptions = {}): void {
  if (!(server instanceof TlsServer)) return;
  const watch = new OverheadWatch(options);
  server.prependListener("connection", (raw: Socket) => watch.opened(raw));
  server.prependListener("secureConnection", (secured: TLSSocket) => watch.secured(secured));
  server.on("keylog", (line: Buffer, secured: TLSSocket) => {
    if (isClientKeyUpdate(line)) watch.keyUpdated(secured);
  });
}

class OverheadWatch {
  readonly #clock: Clock;
  readonly #onCut: (() => void) | undefined;
  /** The connection that was checked last is at the end. */
  readonly #open = new Map<Socket, WatchedConnection>();
  #timer: Timer | undefined;

  constructor({ clock = systemClock, onCut }: TlsOverheadOptions) {
    this.#clock = clock;
    this.#onCut = onCut;
  }

  opened(raw: Socket): void {
    if (raw.destroyed) return;
    this.#open.set(raw, new WatchedConnection(raw, this.#clock.ticksMs()));
    raw.once("close", () => this.#closed(raw));
    this.#timer ??= this.#clock.after(stepMs, () => this.#step());
  }

  secured(secured: TLSSocket): void {
    const connection = this.#open.get(tcpSocketOf(secured));
    if (connection) connection.secured = secured;
  }

  /**
   * OpenSSL is at work on this connection. To destroy it now would free what OpenSSL uses, and Node runs ticks and promises before
   * it returns. An immediate runs after all reads of this turn.
   */
  keyUpdated(secured: TLSSocket): void {
    const connection = this.#open.get(tcpSocketOf(secured));
    if (!connection || connection.updates.take(this.#clock.ticksMs())) return;
    stopReading(connection.raw); // with each message: other code may have read on
    if (connection.isDoomed) return;
    connection.isDoomed = true;
    connection.secured = secured;
    setImmediate(() => this.#cut(connection));
  }

  #closed(raw: Socket): void {
    this.#open.delete(raw);
    if (this.#open.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #step(): void {
    this.#timer = this.#clock.after(stepMs, () => this.#step());
    const mayFollow = this.#open.size > checkedInStep;
    const nowMs = this.#clock.ticksMs();
    let left = Math.min(this.#open.size, checkedInStep);
    for (const [raw, connection] of this.#open) {
      left -= 1;
      if (mayFollow) {
        this.#open.delete(raw);
        this.#open.set(raw, connection);
      }
      if (connection.isExcessive(nowMs)) this.#cut(connection);
      else connection.closeIfLost();
      if (left === 0) return;
    }
  }

  #cut(connection: WatchedConnection): void {
    if (connection.raw.destroyed) return;
    this.#onCut?.();
    connection.close();
  }
}

class WatchedConnection {
  readonly raw: Socket;
  /** Absent during the handshake. */
  secured: TLSSocket | undefined;
  readonly updates: KeyUpdateBucket = new KeyUpdateBucket();
  /** It has sent too many KeyUpdate messages, and is about to be cut. */
  isDoomed = false;
  #rawBytes = 0;
  #dataBytes = 0;
  #overhead = 0;
  /** When its bytes were last counted, in monotonic milliseconds. */
  #countedMs: number;

  constructor(raw: Socket, nowMs: number) {
    this.raw = raw;
    this.#countedMs = nowMs;
  }

  close(): void {
    this.raw.destroy();
    this.secured?.destroy();
  }

  closeIfLost(): void {
    if (this.secured) findLostWrite(this.raw, this.secured, () => this.close());
  }

  /** Data of earlier steps allows nothing now: else one upload would pay for a flood. */
  isExcessive(nowMs: number): boolean {
    const { bytesRead: rawBytes, destroyed } = this.raw;
    if (rawBytes === this.#rawBytes || destroyed) return false;
    const dataBytes = this.secured?.bytesRead ?? 0;
    const data = dataBytes - this.#dataBytes;
    const before = Math.max(0, this.#overhead - this.#forgottenBy(nowMs));
    const overhead = before + rawBytes - this.#rawBytes - data - data * overheadPerByte;
    this.#rawBytes = rawBytes;
    this.#dataBytes = dataBytes;
    this.#overhead = Math.max(0, overhead);
    this.#countedMs = nowMs;
    return overhead > overheadBytesMax;
  }

  #forgottenBy(nowMs: number): number {
    return this.secured ? (forgottenPerSecond * (nowMs - this.#countedMs)) / 1_000 : 0;
  }
}
