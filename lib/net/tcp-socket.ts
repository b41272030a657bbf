import type { Socket } from "node:net";

/**
 * The TCP socket of a connection: the one below TLS, or the socket itself. Addresses and ports do not show which two belong
 * together, because a client may reset a connection and open the next one from the same port before Node reports the close of
 * the first. Node keeps the socket below TLS in `_parent`, which it does not document.
 */
export function tcpSocketOf(socket: Socket): Socket {
  if (!("encrypted" in socket && "_parent" in socket)) return socket;
  const below = socket._parent;
  return isTcpSocket(below) ? below : socket;
}

function isTcpSocket(below: unknown): below is Socket {
  if (typeof below !== "object" || below === null || !("resetAndDestroy" in below)) return false;
  return typeof below.resetAndDestroy === "function";
}
