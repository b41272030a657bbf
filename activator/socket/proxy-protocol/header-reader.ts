import type { SocketReader, WireSocket } from "../wire-socket.ts";
import type { AwaitedHeader, Introduction } from "./awaited-header.ts";

/** The read buffer of all sockets that wait for a header: no larger than what a waiting TCP client may keep. */
const headerPlace: Buffer = Buffer.allocUnsafeSlow(4_096);

/** Reads a header from a socket, and gives the socket to the next reader with all that follows. */
export class HeaderReader implements SocketReader {
  readonly wantsMore = true;
  readonly #socket: WireSocket;
  readonly #header: AwaitedHeader;
  readonly #next: (introduction: Introduction) => SocketReader;

  constructor(socket: WireSocket, header: AwaitedHeader, next: (introduction: Introduction) => SocketReader) {
    this.#socket = socket;
    this.#header = header;
    this.#next = next;
  }

  nextBuffer(): Buffer {
    return headerPlace;
  }

  take(bytes: Buffer, length: number): void {
    this.#header.take(bytes.subarray(0, length), (introduction, rest) => {
      const reader = this.#next(introduction);
      this.#socket.reader = reader;
      if (rest.length > 0) reader.take(rest, rest.length);
    });
  }

  /** A client that ends its side before its header is complete wants nothing. */
  ended(): void {
    this.#socket.destroy();
  }

  drained(): void {}

  writeFailed(): boolean {
    return false;
  }

  closed(): void {
    this.#header.closed();
  }
}
