import type { Socket } from "node:net";

interface ReadingHandle {
  readStop(): number;
}

const isReadingHandle = (handle: unknown): handle is ReadingHandle =>
  typeof handle === "object" && handle !== null && "readStop" in handle && typeof handle.readStop === "function";

/**
 * Stops the reading of a TCP socket at once, also within one of its reads: libuv looks for that between two reads of one turn, and
 * begins no other. `pause` would not do: below TLS the socket itself reads nothing. Node keeps the handle in `_handle`, which it does not
 * document. False: this Node has other internals, and nothing was stopped.
 */
export function stopReading(socket: Socket): boolean {
  if (!("_handle" in socket) || !isReadingHandle(socket._handle)) return false;
  return socket._handle.readStop() === 0;
}
