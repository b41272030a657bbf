import { constants, type Http2Session, type Http2Stream } from "node:http2";

/** The native part of a socket to which a session of Node writes. */
interface WriteHandle {
  /** Bytes that were given to it and are not sent. */
  readonly writeQueueSize: number;
  /** Bytes that were given to it. */
  readonly bytesWritten: number;
}

/**
 * The bytes of heads and trailers that were given to one stream, and that may not be sent yet. nghttp2 keeps them while a write of the
 * connection is in progress, and no window limits them: a side that reads nothing of its connection keeps all of them waiting. Nothing
 * tells when they are sent, so it is concluded when the bytes are asked for.
 */
export class UnsentFields {
  readonly #stream: Http2Stream;
  #bytes = 0;
  /** What was written on the connection when it was last looked at; -1: it was not, since these fields were added. */
  #written = -1;
  /** How many writes have begun since then, as far as was seen. */
  #writes = 0;

  constructor(stream: Http2Stream) {
    this.#stream = stream;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    this.#written = -1;
    this.#writes = 0;
  }

  /** The other side has answered them. */
  sent(): void {
    this.#bytes = 0;
  }

  get bytes(): number {
    if (this.#bytes > 0 && this.#areSent()) this.#bytes = 0;
    return this.#bytes;
  }

  #areSent(): boolean {
    const { session } = this.#stream;
    const handle = session && writeHandle(session);
    if (!session || !handle) return true;
    if (handle.writeQueueSize === 0 && !(session.state.outboundQueueSize ?? 0)) return true;
    // A client keeps its requests back while the server takes no more of them.
    return session.type === constants.NGHTTP2_SESSION_SERVER && this.#isWriteOver(handle);
  }

  /** Each write has all fields that were added before it, and begins after the last one. */
  #isWriteOver({ bytesWritten }: WriteHandle): boolean {
    if (this.#written >= 0 && bytesWritten > this.#written) this.#writes += 1;
    this.#written = bytesWritten;
    return this.#writes > 1;
  }
}

/** Whether the other side, or the way to it, does not take what was written. Otherwise all that waits is written at the end of this turn. */
export function isWriting(session: Http2Session): boolean {
  return (writeHandle(session)?.writeQueueSize ?? 0) > 0;
}

/** Undefined: another Node, or the session has ended. */
function writeHandle(session: Http2Session): WriteHandle | undefined {
  if (session.destroyed) return undefined;
  const handle: unknown = Reflect.get(session.socket, "_handle");
  return isWriteHandle(handle) ? handle : undefined;
}

function isWriteHandle(handle: unknown): handle is WriteHandle {
  return typeof handle === "object" && handle !== null && "writeQueueSize" in handle && "bytesWritten" in handle;
}
