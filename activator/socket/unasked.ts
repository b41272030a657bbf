import type { Socket } from "node:net";
import { commonBuffer, type SocketReader } from "./wire-socket.ts";

/** Reads on an unused connection: an end closes it, and so does any byte, which would be read as a response. */
export class Unasked implements SocketReader {
  readonly wantsMore = true;
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  nextBuffer(): Buffer {
    return commonBuffer;
  }

  take(): void {
    this.#socket.destroy();
  }

  ended(): void {
    this.#socket.destroy();
  }

  drained(): void {}

  writeFailed(): boolean {
    return false;
  }

  closed(): void {}
}

/** Absent only while a socket is being created. */
export const noReader: SocketReader = {
  wantsMore: false,
  nextBuffer: () => commonBuffer,
  take() {},
  ended() {},
  drained() {},
  writeFailed: () => false,
  closed() {},
};
