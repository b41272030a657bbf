import type { Socket } from "node:net";
import { tcpSocketOf } from "../../lib/net/tcp-socket.ts";

/**
 * Resets a connection of any kind (RFC 9293, 3.5.3), because an end would mark it as complete. Unsent bytes are dropped. Node resets
 * TCP alone; below TLS the TCP socket is reset, and if that is not accessible the connection is destroyed: then it lacks the
 * closure alert of TLS (RFC 8446, 6.1).
 */
export function resetSocket(socket: Socket): void {
  if (socket.destroyed) return;
  if (!isSendingItsEnd(socket) && !hasLostItsHandle(socket)) resetTcp(tcpSocketOf(socket));
  socket.destroy();
}

function resetTcp(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    // The handle is not TCP.
  }
}

/** Another socket owns the connection, or there is none. For Node, a reset would then be an error of this one, and nobody listens. */
const hasLostItsHandle = (socket: Socket): boolean => "_handle" in socket && !socket._handle;

/**
 * Everything was written, and the end is being sent. libuv refuses a reset at that moment, and Node (24.21) then never emits
 * `close` and keeps the descriptor. The other side has got everything, and the end.
 */
const isSendingItsEnd = (socket: Socket): boolean =>
  socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
