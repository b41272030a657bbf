import { type Server, Socket } from "node:net";

/** Uses what a socket reads, in buffers that it chooses, and hears what else happens to it. */
export interface SocketReader {
  /** Where the bytes after the next ones go: asked after each `take`, and once when the socket is made. */
  nextBuffer(): Buffer;
  /** So many bytes are at the beginning of `bytes`, until the end of the call; false stops reading until `resume`. */
  take(bytes: Buffer, length: number): boolean;
  /** The other side will send no more. */
  ended(): void;
  /** What was written has left, after so much waited that the writer should have stopped. */
  drained(): void;
  /**
   * Nothing more can be written. True: what was received before that is still wanted, and the reader sees to it that the
   * socket is destroyed in the end, for its end may not be told any more. Absent: nothing is wanted.
   */
  writeFailed?(): boolean;
  /** Nothing more will happen. */
  closed(hadError: boolean): void;
}

/** A TCP connection whose reader may change while it is open. Its errors are told by `closed`. */
export interface WireSocket extends Socket {
  reader: SocketReader;
}

/** How many bytes may wait in a socket before who writes to it is to stop, and hears of `drained`. */
export const writeAheadBytes = 16_384;

/** What every accepted socket is made with. */
export const acceptedSocket = { noDelay: true, highWaterMark: writeAheadBytes } as const;
/** And those that `adoptAccepted` takes from a server without encryption. */
export const plainAcceptedSocket = { ...acceptedSocket, allowHalfOpen: true, pauseOnConnect: true } as const;

/** Whether so much waits to be sent that nothing should be added; `drained` follows if so. */
export function isBehind(socket: Socket): boolean {
  return socket.writableLength >= socket.writableHighWaterMark;
}

/** Where sockets read to as long as they read little: what lands here is used or copied before the call ends. */
export const commonBuffer: Buffer = Buffer.allocUnsafeSlow(131_072);

/** Descriptors are the process's, and so is their number. */
let open = 0;

/** How many of these sockets are open in this process, accepted and dialled ones together. */
export const openSockets = (): number => open;

/** How an accepted socket gets its reader: by its handle, or by the events that every socket has. */
export type Adoption = "handle" | "events";

/** A socket to connect. Until it is given a reader it closes when anything is said on it that nobody asked for. */
export function newSocket(): WireSocket {
  return new OnReadSocket(undefined, true, commonBuffer);
}

/**
 * Gives a reader to a socket that a server accepted with `pauseOnConnect`, and returns the socket to go on with; the
 * one that was accepted is not to be used again. Reading has begun when it returns.
 *
 * Only sockets that one makes have the `onread` option. What an accepted one has is a handle, and a new socket around
 * that handle has all options; where a Node has other inners than we know, the reader is fed from "data" events, one
 * copy slower and otherwise the same. The first bytes go to `first`, before the reader is asked for a place.
 */
export function adoptAccepted(
  accepted: Socket,
  readerOf: (socket: WireSocket) => SocketReader,
  by: Adoption = adoptionOf(accepted),
  first: Buffer = commonBuffer,
): WireSocket {
  const socket = by === "handle" ? wrapHandle(accepted, first) : feedFromEvents(accepted);
  socket.reader = readerOf(socket);
  socket.resume();
  return socket;
}

/** Who gets the connections of a server. */
export interface Acceptor {
  /** Whether there is room for one more; if not, it is closed. */
  hasRoom(): boolean;
  /** As with `adoptAccepted`. */
  readerOf(socket: WireSocket): SocketReader;
}

/**
 * Has a server without encryption, which listens, make its connections into sockets with a reader at once: the socket that it makes
 * of each would only be taken apart again. False, and nothing is changed, where this Node's server has other inners than
 * we know; then what it accepts comes by its event, as does what goes over `maxConnections`.
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
    const socket = new OnReadSocket(handle, true, commonBuffer);
    inners._connections += 1;
    Object.assign(socket, { _server: server });
    socket.reader = acceptor.readerOf(socket);
    socket.resume();
  };
  return true;
}

export function adoptionOf(socket: Socket): Adoption {
  return hasInners(socket) ? "handle" : "events";
}

/** What a Node net.Socket has inside, as far as it is used here. */
interface SocketInners {
  _handle: { readonly useUserBuffer: (buffer: Buffer) => void } | null;
  /** The server counts its connections by this: whoever has it when it is destroyed is taken off. */
  _server: unknown;
}

/** What a Node net.Server has inside while it listens, as far as it is used here. */
interface ServerInners {
  _handle: { onconnection: (this: unknown, error: unknown, handle: unknown) => void };
  _connections: number;
}

function hasServerInners(server: object): server is ServerInners {
  if (!("_handle" in server && "_connections" in server) || typeof server._connections !== "number") return false;
  const handle = server._handle;
  return (
    typeof handle === "object" &&
    handle !== null &&
    "onconnection" in handle &&
    typeof handle.onconnection === "function"
  );
}

/** A connection that the kernel has accepted, and nobody has made a socket of. */
interface Connection {
  setNoDelay(on: boolean): void;
  close(): void;
}

function isConnection(handle: unknown): handle is Connection {
  if (typeof handle !== "object" || handle === null || !("useUserBuffer" in handle)) return false;
  return "setNoDelay" in handle && "close" in handle;
}

function hasInners(socket: object): socket is SocketInners {
  if (!("_handle" in socket && "_server" in socket)) return false;
  const handle = socket._handle;
  return typeof handle === "object" && handle !== null && "useUserBuffer" in handle;
}

class OnReadSocket extends Socket implements WireSocket {
  readonly #held: { reader: SocketReader };

  constructor(handle: unknown, allowHalfOpen: boolean, first: Buffer) {
    const held: { reader: SocketReader } = {
      reader: first === commonBuffer ? nobody : { ...nobody, nextBuffer: () => first },
    };
    const options = {
      ...(handle !== undefined && { handle }),
      ...{ allowHalfOpen, noDelay: true, writableHighWaterMark: writeAheadBytes },
      onread: {
        buffer: () => held.reader.nextBuffer(),
        callback: takeRead,
      },
    };
    super(options);
    this.#held = held;
    held.reader = new Unasked(this);
    report(this);
  }

  get reader(): SocketReader {
    return this.#held.reader;
  }

  set reader(reader: SocketReader) {
    this.#held.reader = reader;
  }

  /** Node destroys a socket whose write failed; what the other side said before it hung up would be lost with it. */
  override destroy(error?: Error): this {
    if (isWriteError(error) && this.reader.writeFailed?.()) return this;
    return super.destroy(error);
  }
}

const isWriteError = (error: Error | undefined) =>
  error !== undefined && "syscall" in error && error.syscall === "write";

function wrapHandle(accepted: Socket, first: Buffer): WireSocket {
  if (!hasInners(accepted)) throw new TypeError("this socket has no handle to take");
  const socket = new OnReadSocket(accepted._handle, accepted.allowHalfOpen, first);
  accepted._handle = null;
  Object.assign(socket, { _server: accepted._server });
  accepted._server = null;
  return socket;
}

function feedFromEvents(accepted: Socket): WireSocket {
  const socket: WireSocket = Object.assign(accepted, { reader: new Unasked(accepted) });
  report(socket);
  return socket.on("data", (bytes: Buffer) => {
    let wantsMore = true;
    for (let at = 0; at < bytes.length; ) {
      const buffer = socket.reader.nextBuffer();
      const length = bytes.copy(buffer, 0, at);
      wantsMore = socket.reader.take(buffer, length);
      at += length;
    }
    if (!wantsMore) socket.pause();
  });
}

/**
 * Tells the reader of the moment what happens, for as long as the socket lives. Node calls all listeners, and the
 * callback of `onread`, on the socket: functions of its own would be a good part of what a held request weighs.
 */
function report(socket: WireSocket): void {
  open += 1;
  socket.on("end", tellEnd).on("drain", tellDrain).on("error", ignoreError).on("close", tellClose);
}

function takeRead(this: WireSocket, length: number, bytes: Buffer): boolean {
  return this.reader.take(bytes, length);
}

function tellEnd(this: WireSocket): void {
  this.reader.ended();
}

function tellDrain(this: WireSocket): void {
  this.reader.drained();
}

/** Told once, by "close", which follows. */
function ignoreError(): void {}

function tellClose(this: WireSocket, hadError: boolean): void {
  open -= 1;
  this.reader.closed(hadError);
}

/** Reads on a connection that nobody uses: an end closes it, and so do bytes, which would be taken for an answer. */
class Unasked implements SocketReader {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  nextBuffer(): Buffer {
    return commonBuffer;
  }

  take(): boolean {
    this.#socket.destroy();
    return false;
  }

  ended(): void {
    this.#socket.destroy();
  }

  drained(): void {}

  closed(): void {}
}

/** Only while a socket is being made. */
const nobody: SocketReader = {
  nextBuffer: () => commonBuffer,
  take: () => false,
  ended() {},
  drained() {},
  closed() {},
};
