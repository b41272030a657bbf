import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { guarded } from "../../../lib/guard/guard.ts";
import { tcpSocketOf } from "../../../lib/net/tcp-socket.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { Sweep } from "../../sweep.ts";
import { holdDescriptor } from "../open-sockets.ts";
import { peerAddress } from "../peer-address.ts";
import { resetSocket } from "../reset-socket.ts";
import type { SocketReader, WireSocket } from "../wire-socket.ts";
import { AwaitedHeader, type HeaderRefusal, type Introduction } from "./awaited-header.ts";
import { HeaderReader } from "./header-reader.ts";
import type { Networks } from "./networks.ts";

/** Opens the gate of one kind of listener. `onOver`: called when a connection has ceased to wait. */
export type OpenGate = (listener: "http" | "https" | "tcp" | "byName", onOver: () => void) => HeaderGate;

export interface HeaderGateOptions {
  readonly networks: Networks;
  /** From the connection to the end of its header, in milliseconds. */
  readonly limitMs: number;
  readonly clock: Clock;
  readonly sweep: Sweep;
  readonly onRefused: (reason: HeaderRefusal, peer: string) => void;
  /** Called when a connection has ceased to wait. */
  readonly onOver: () => void;
}

/** How long a header may still take after the front stopped accepting, in milliseconds. */
const lastHeadersMs = 1_000;

/**
 * The connections of one listener that have to begin with a PROXY header: those from the named networks. What others send is
 * never read as one.
 */
export class HeaderGate {
  readonly #options: HeaderGateOptions;
  readonly #awaited = new Set<AwaitedHeader>();
  readonly #ofRaw = new WeakMap<Socket, Introduction>();

  constructor(options: HeaderGateOptions) {
    this.#options = options;
  }

  /** The number of connections without a complete header. */
  get size(): number {
    return this.#awaited.size;
  }

  /** Whether this connection has to begin with a header. A peer that has reset it has no address, and may be of these networks. */
  expects(socket: Pick<Socket, "remoteAddress">): boolean {
    return socket.remoteAddress === undefined || this.#options.networks.has(peerAddress(socket));
  }

  /** Reads the header. `next` then gets the socket, and returns its reader. */
  readerOf(socket: WireSocket, next: (introduction: Introduction) => SocketReader): SocketReader {
    return new HeaderReader(
      socket,
      this.#await(socket, () => socket.reset()),
      next,
    );
  }

  /** Reads the header below TLS. `next` then gets the socket, which has what follows in its buffer: code of Node reads it first. */
  openRaw(raw: Socket, next: () => void): void {
    const descriptor = holdDescriptor();
    const header = this.#await(raw, () => resetSocket(raw));
    const opened = (introduction: Introduction, rest: Buffer) => {
      raw.off("data", take).off("close", closed).pause();
      if (rest.length > 0) raw.unshift(rest);
      descriptor[Symbol.dispose]();
      this.#ofRaw.set(raw, introduction);
      next();
    };
    const take = guarded(
      "http-front",
      (bytes: Buffer) => header.take(bytes, opened),
      () => resetSocket(raw),
    );
    const closed = () => {
      descriptor[Symbol.dispose]();
      header.closed();
    };
    raw.on("error", () => {}); // "close" follows
    raw.on("close", closed).on("data", take);
  }

  /** What the header below this TLS connection said; undefined: there was none. */
  introductionOf(secured: TLSSocket): Introduction | undefined {
    return this.#ofRaw.get(tcpSocketOf(secured));
  }

  /** No connection is accepted any more; those that are open get a short time. */
  finish(): void {
    const lastMs = this.#options.clock.ticksMs() + lastHeadersMs;
    for (const header of this.#awaited) header.dueMs = Math.min(header.dueMs, lastMs);
  }

  cutAll(): void {
    for (const header of this.#awaited) header.cut();
  }

  #await(socket: Pick<Socket, "remoteAddress">, cut: () => void): AwaitedHeader {
    const { clock, sweep, limitMs, onRefused, onOver } = this.#options;
    const header = new AwaitedHeader(socket, {
      ...{ dueMs: clock.ticksMs() + limitMs, onRefused, cut },
      onOver: (over) => {
        this.#awaited.delete(over);
        sweep.remove(over);
        onOver();
      },
    });
    this.#awaited.add(header);
    sweep.add(header);
    return header;
  }
}
