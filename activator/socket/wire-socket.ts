import type { Server, Socket } from "node:net";
import { bufferOf, takeRead, wantsMore } from "./doors.ts";
import { hasInners, hasServerInners, isConnection } from "./node-inners.ts";
import { OnReadSocket, reportEvents } from "./on-read-socket.ts";
import { resetSocket } from "./reset-socket.ts";
import { StoppedInput } from "./stopped-input.ts";
import { Unasked } from "./unasked.ts";

/**
 * Owns the reading of a socket: it provides the buffers, says whether more may be read, and receives the other events. An error
 * in it ends its own connection alone.
 */
export interface SocketReader {
  /** The buffer of the read after the next: called after each `take`, and once when the socket is created. */
  nextBuffer(): Buffer;
  /** This many bytes are at the beginning of `bytes`, until the call returns. */
  take(bytes: Buffer, length: number): void;
  /**
   * Whether more may be read now, for all reasons to wait. Read after each `take` and by each `readOn`. A reader that returns
   * false calls `readOn` once that has changed.
   */
  readonly wantsMore: boolean;
  /** The other side will send no more. */
  ended(): void;
  /** The queue was sent, after it had grown so long that the writer should have stopped. */
  drained(): void;
  /**
   * A write failed, so no more can be written. Returns whether bytes that were received before are still wanted: then they are
   * read, and `closed` follows the last of them. A socket that is fed by events is closed at once: Node discards what it has read.
   */
  writeFailed(): boolean;
  /** The last event. */
  closed(hadError: boolean): void;
  /** Cuts both sides of a relay in one step. Absent: the socket is relayed to none. */
  cutRelay?(): void;
}

/**
 * A TCP connection whose reader may change while it is open. `closed` reports its errors. Only the current reader decides
 * whether more is read; nothing else resumes it.
 */
export interface WireSocket extends Omit<Socket, "pause" | "resume" | "resetAndDestroy"> {
  reader: SocketReader;
  /** Resumes reading if the reader wants more. Any code may call it at any time. */
  readOn(): void;
  /** Cuts the connection, so that the other side sees a failure: an end would mark it as complete. */
  reset(): void;
  /**
   * Puts bytes back, for code of Node that takes the socket's handle and reads it itself. The reader gets only the other events
   * from then on. Not within a read.
   */
  unread(bytes: Buffer): Socket;
  /** Node has reported the end of its input, and a second read tells whether it was a reset. `ended` or `closed` follow in the next turn. */
  readonly isEndChecked: boolean;
}

/** Resets a connection, and in the same step the one that it is relayed to: the process may exit in the next. */
export function cutConnection(socket: WireSocket): void {
  if (socket.reader.cutRelay) socket.reader.cutRelay();
  else socket.reset();
}

/** The weight of a socket's queue, in bytes, from which its writer should stop and wait for `drained`. */
export const writeAheadBytes = 16_384;

/** The options of every accepted socket. */
export const acceptedSocket = { noDelay: true, highWaterMark: writeAheadBytes } as const;
/** The options of sockets that `adoptAccepted` takes from a server without TLS. */
export const plainAcceptedSocket = { ...acceptedSocket, allowHalfOpen: true, pauseOnConnect: true } as const;

/**
 * The read buffer that all sockets share. Its bytes are used or copied before the call ends. It is no larger because a reader
 * may have to keep, or queue, a copy of all that it reads.
 */
export const commonBuffer: Buffer = Buffer.allocUnsafeSlow(writeAheadBytes);

/** How an accepted socket gets its reader: by its handle, or by the events of every socket. */
export type Adoption = "handle" | "events";

/** A socket to connect, which reads nothing before the first `readOn`. Until it has a reader, any input closes it. */
export function newSocket(): WireSocket {
  return new OnReadSocket(undefined, commonBuffer).pause();
}

/**
 * Gives a reader to a socket that a server accepted with `pauseOnConnect`. Returns the socket to use from now on; the accepted
 * one must not be used again. Reading has begun when it returns.
 *
 * Only new sockets take the `onread` option. An accepted socket has a handle, and a new socket around that handle takes all
 * options. If this Node has unknown internals, the reader gets "data" events instead, with one more copy. The first bytes go to
 * `first`, before the reader is called for a buffer. Its sides end one by one, over TLS too: the reader ends ours.
 */
export function adoptAccepted(
  accepted: Socket,
  readerOf: (socket: WireSocket) => SocketReader,
  by: Adoption = adoptionOf(accepted),
  first: Buffer = commonBuffer,
): WireSocket {
  const socket = by === "handle" ? wrapHandle(accepted, first) : feedFromEvents(accepted);
  try {
    socket.reader = readerOf(socket);
    socket.readOn();
  } catch (error) {
    // The accepted socket has no connection any more, so its owner cannot end it.
    socket.reset();
    throw error;
  }
  return socket;
}

/** Receives the connections of a server. */
export interface Acceptor {
  /** Whether one more connection is accepted; if not, it is closed. */
  hasRoom(): boolean;
  /** As with `adoptAccepted`. */
  readerOf(socket: WireSocket): SocketReader;
}

/**
 * Intercepts the accepted handles of a listening server without TLS and creates sockets with readers from them directly,
 * instead of unwrapping Node's. False, without any change, if this Node's server has unknown internals; then connections come
 * by its event, as do those beyond `maxConnections`.
 */
export function acceptHandles(server: Server, acceptor: Acceptor): boolean {
  const inners: object = server;
  if (!hasServerInners(inners)) return false;
  const listening = inners._handle;
  const byEvent = listening.onconnection;
  listening.onconnection = function accept(error, handle) {
    const isFull = inners._connections >= (server.maxConnections ?? Number.POSITIVE_INFINITY);
    if (error || isFull || !isConnection(handle)) return byEvent.call(this, error, handle);
    if (!acceptor.hasRoom()) return handle.close();
    handle.setNoDelay(true);
    const socket = new OnReadSocket(handle, commonBuffer);
    inners._connections += 1;
    Object.assign(socket, { _server: server });
    socket.reader = acceptor.readerOf(socket);
    socket.readOn();
  };
  return true;
}

export function adoptionOf(socket: Socket): Adoption {
  return hasInners(socket) ? "handle" : "events";
}

function wrapHandle(accepted: Socket, first: Buffer): WireSocket {
  if (!hasInners(accepted)) throw new TypeError("this socket has no handle to take");
  const socket = new OnReadSocket(accepted._handle, first);
  accepted._handle = null;
  Object.assign(socket, { _server: accepted._server });
  accepted._server = null;
  return socket;
}

function feedFromEvents(accepted: Socket): WireSocket {
  const { resume } = accepted;
  const stopped = new StoppedInput(accepted);
  accepted.allowHalfOpen = true;
  const socket: Socket & WireSocket = Object.assign(accepted, {
    reader: new Unasked(accepted),
    resume() {
      if (!wantsMore(socket)) return socket;
      stopped.goOn();
      return resume.call(socket);
    },
    readOn: () => void socket.resume(),
    reset: () => resetSocket(accepted),
    isEndChecked: false,
    unread(bytes: Buffer) {
      stopped.goOn();
      accepted.pause().unshift(bytes);
      return accepted;
    },
  });
  reportEvents(socket);
  return socket.on("data", (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; ) {
      const buffer = bufferOf(socket.reader, socket);
      const length = bytes.copy(buffer, 0, at);
      at += length;
      if (takeRead.call(socket, length, buffer)) continue;
      socket.pause();
      stopped.stop();
      if (at < bytes.length && !socket.destroyed) socket.unshift(bytes.subarray(at));
      return;
    }
  });
}
