import type { Clock } from "../../lib/time/clock.ts";
import { peerAddress } from "../socket/peer-address.ts";
import type { Introduction } from "../socket/proxy-protocol/awaited-header.ts";
import type { SocketReader, WireSocket } from "../socket/wire-socket.ts";
import type { Sweep, Watched } from "../sweep.ts";
import type { NameRefusal } from "../tcp-front/connection/refusals.ts";
import { earlyPlace } from "../tcp-front/connection/tcp-client.ts";
import { type NamedClient, NameReader } from "./name-reader.ts";

/** How long a client may take to read the last bytes for it, and how much it may still send meanwhile. Milliseconds, bytes. */
const lastBytesMs = 1_000;
const droppedBytesMax = 65_536;

export interface UnnamedClientParts {
  readonly clock: Clock;
  readonly sweep: Sweep;
  /** How long it may take to name a sandbox, in milliseconds. */
  readonly limitMs: number;
  /** What its PROXY header said. */
  readonly introduction: Introduction | undefined;
  readonly onNamed: (client: UnnamedClient, named: NamedClient) => void;
  readonly onRefused: (client: UnnamedClient, reason: NameRefusal) => void;
}

/**
 * A connection whose sandbox is not known yet.
 *
 *   reading ──the name──▶ named                    (another reader reads the socket)
 *      └────────┴──refuse──▶ refused ──▶ closed    (what still comes is dropped)
 */
export class UnnamedClient implements SocketReader, Watched {
  sweepIndex = -1;
  readonly socket: WireSocket;
  readonly peer: string;
  readonly introduction: Introduction | undefined;
  /** Monotonic milliseconds. */
  dueMs: number;
  readonly #parts: UnnamedClientParts;
  #name: NameReader | undefined = new NameReader();
  #state: "reading" | "named" | "refused" = "reading";
  #dropped = 0;

  constructor(socket: WireSocket, parts: UnnamedClientParts) {
    this.socket = socket;
    this.peer = peerAddress(socket);
    this.introduction = parts.introduction;
    this.#parts = parts;
    this.dueMs = parts.clock.ticksMs() + parts.limitMs;
    parts.sweep.add(this);
  }

  /** It has sent nothing of its own. */
  get isSilent(): boolean {
    return this.socket.bytesRead === (this.introduction?.headerBytes ?? 0);
  }

  /** Its connection is another's, or closed. */
  over(): void {
    this.#parts.sweep.remove(this);
  }

  /** Ends it with these bytes, or resets it without. The client has sent all that it will: it waits for an answer. */
  refuse(reply: Buffer | undefined): void {
    this.#state = "refused";
    this.#name = undefined;
    if (!reply) return this.socket.reset();
    this.dueMs = this.#parts.clock.ticksMs() + lastBytesMs;
    this.socket.reader = this;
    this.socket.write(reply);
    this.socket.end();
    this.socket.readOn();
  }

  check(nowMs: number): void {
    if (nowMs < this.dueMs || this.#state === "named") return; // the search for its sandbox has a limit of its own
    if (this.#state === "reading") this.#parts.onRefused(this, "NameTimedOut");
    this.socket.reset();
  }

  nextBuffer(): Buffer {
    return earlyPlace;
  }

  get wantsMore(): boolean {
    return this.#state !== "named";
  }

  take(bytes: Buffer, length: number): void {
    if (!this.#name) return this.#drop(length);
    const step = this.#name.take(bytes.subarray(0, length));
    switch (step.is) {
      case "incomplete":
        if (step.reply) this.socket.write(step.reply);
        return;
      case "refused":
        this.#parts.onRefused(this, step.reason);
        return this.refuse(step.reply);
      case "named":
        this.#state = "named";
        this.#name = undefined;
        return this.#parts.onNamed(this, step);
    }
  }

  /** A client that ends its side before it has named a sandbox wants none. */
  ended(): void {
    this.socket.destroy();
  }

  drained(): void {}

  writeFailed(): boolean {
    return false;
  }

  closed(): void {}

  /** If the kernel closes a connection with unread bytes, it resets it, and the client may lose the alert. */
  #drop(length: number): void {
    this.#dropped += length;
    if (this.#dropped > droppedBytesMax) this.socket.reset();
  }
}
