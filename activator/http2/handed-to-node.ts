import { commonBuffer, type SocketReader } from "../socket/wire-socket.ts";

/** Node's session reads from the socket's handle. No byte comes here, except after the session has ended. */
export class HandedToNode implements SocketReader {
  wantsMore = false;
  /** The other side has ended. HTTP/2 has no half-closed connections. */
  readonly ended: () => void;

  constructor(ended: () => void) {
    this.ended = ended;
  }

  nextBuffer(): Buffer {
    return commonBuffer;
  }

  take(): void {}

  drained(): void {}

  writeFailed(): boolean {
    return false;
  }

  closed(): void {}
}
