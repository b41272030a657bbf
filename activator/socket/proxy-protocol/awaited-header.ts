import type { Socket } from "node:net";
import type { Watched } from "../../sweep.ts";
import { peerAddress } from "../peer-address.ts";
import { joined, ownCopy } from "../read-place.ts";
import { readProxyHeader } from "./header.ts";
import { type HeaderFault, headerFaults } from "./header-step.ts";

/** Why a connection without a valid header was closed, in the words of metrics and logs. */
export const headerRefusals = [...headerFaults, "Truncated", "TimedOut"] as const;
export type HeaderRefusal = HeaderFault | "Truncated" | "TimedOut";

/** What the PROXY header of a connection said. */
export interface Introduction {
  /** The address of the client. It is told to logs and to sandboxes, and decides nothing: the peer's does. */
  readonly clientIp: string;
  /** The length of the header, which is no part of what the client sent. */
  readonly headerBytes: number;
}

export interface AwaitedHeaderParts {
  /** Monotonic milliseconds at which it must be complete. */
  readonly dueMs: number;
  readonly onRefused: (reason: HeaderRefusal, peer: string) => void;
  /** Nothing is awaited any more: it is complete, refused, or its connection is closed. */
  readonly onOver: (header: AwaitedHeader) => void;
  readonly cut: () => void;
}

/** The header of one connection, until it is complete. */
export class AwaitedHeader implements Watched {
  sweepIndex = -1;
  dueMs: number;
  readonly #peer: string;
  readonly #parts: AwaitedHeaderParts;
  #kept: Buffer | undefined;
  #isOver = false;

  constructor(socket: Pick<Socket, "remoteAddress">, parts: AwaitedHeaderParts) {
    this.dueMs = parts.dueMs;
    this.#peer = peerAddress(socket);
    this.#parts = parts;
  }

  /** `next` gets what the header says once it is complete, and what follows it. Until it returns, the header counts as awaited. */
  take(bytes: Buffer, next: (introduction: Introduction, rest: Buffer) => void): void {
    if (this.#isOver) return;
    const all = this.#kept ? joined(this.#kept, bytes) : bytes;
    const step = readProxyHeader(all);
    switch (step.is) {
      case "incomplete":
        this.#kept = this.#kept ? all : ownCopy(bytes);
        return;
      case "refused":
        return this.#refuse(step.reason);
      case "complete": {
        this.#kept = undefined;
        const introduction = { clientIp: step.clientIp ?? this.#peer, headerBytes: step.length };
        try {
          next(introduction, all.subarray(step.length));
        } finally {
          this.#over();
        }
      }
    }
  }

  /** A client that has sent nothing has asked only whether we listen. */
  closed(): void {
    if (this.#isOver) return;
    if (this.#kept) this.#parts.onRefused("Truncated", this.#peer);
    this.#over();
  }

  check(nowMs: number): void {
    if (nowMs >= this.dueMs) this.#refuse("TimedOut");
  }

  /** Cuts the connection for no fault of its own. */
  cut(): void {
    this.#over();
    this.#parts.cut();
  }

  #refuse(reason: HeaderRefusal): void {
    this.#parts.onRefused(reason, this.#peer);
    this.cut();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#kept = undefined;
    this.#parts.onOver(this);
  }
}
