/** The internals of a Node net.Socket that are used here. */
export interface SocketInners {
  _handle: { readonly useUserBuffer: (buffer: Buffer) => void } | null;
  /** The server counts its connections by this: a socket that has it when destroyed is subtracted. */
  _server: unknown;
}

/** The internals of a listening Node net.Server that are used here. */
export interface ServerInners {
  _handle: { onconnection: (this: unknown, error: unknown, handle: unknown) => void };
  _connections: number;
}

export function hasServerInners(server: object): server is ServerInners {
  if (!("_handle" in server && "_connections" in server) || typeof server._connections !== "number") return false;
  const handle = server._handle;
  return (
    typeof handle === "object" &&
    handle !== null &&
    "onconnection" in handle &&
    typeof handle.onconnection === "function"
  );
}

/** A connection that the kernel has accepted and that has no socket yet. */
export interface Connection {
  setNoDelay(on: boolean): void;
  close(): void;
}

export function isConnection(handle: unknown): handle is Connection {
  if (typeof handle !== "object" || handle === null || !("useUserBuffer" in handle)) return false;
  return "setNoDelay" in handle && "close" in handle;
}

export function hasInners(socket: object): socket is SocketInners {
  if (!("_handle" in socket && "_server" in socket)) return false;
  const handle = socket._handle;
  return typeof handle === "object" && handle !== null && "useUserBuffer" in handle;
}

interface ReadingHandle {
  /** Node begins no second read while it is true. */
  reading: boolean;
  readStart(): number;
}

const isReadingHandle = (handle: unknown): handle is ReadingHandle =>
  typeof handle === "object" && handle !== null && "reading" in handle && "readStart" in handle;

/**
 * Reads once more after an end: it was a reset if that read fails, and else the end is reported again. False: this is not possible, and
 * nothing is read.
 */
export function readsAgain(socket: object): boolean {
  if (!("_handle" in socket) || !isReadingHandle(socket._handle)) return false;
  const handle = socket._handle;
  handle.reading = true;
  return handle.readStart() === 0;
}

/** The number of writes that a stream holds one by one. Infinity if this Node has unknown internals and anything waits. */
export function heldWrites(stream: object): number {
  if (!("_writableState" in stream)) return Number.POSITIVE_INFINITY;
  const state = stream._writableState;
  if (typeof state !== "object" || state === null || !("bufferedRequestCount" in state))
    return Number.POSITIVE_INFINITY;
  return typeof state.bufferedRequestCount === "number" ? state.bufferedRequestCount : Number.POSITIVE_INFINITY;
}

const closed = new Error("the stream is closed");

/**
 * Gives a destroyed stream without an error one for what may wait in it. Else Node makes one for each such stream, with its stack, even if
 * nothing waits.
 */
export function spareErrors(stream: object): void {
  if (!("_writableState" in stream)) return;
  const state = stream._writableState;
  if (typeof state === "object" && state !== null && "errored" in state) state.errored ??= closed;
}
