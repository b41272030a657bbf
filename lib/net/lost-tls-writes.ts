import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

interface WritingHandle {
  /** Bytes that wait. */
  readonly writeQueueSize: number;
  /** Bytes that were given to it. */
  readonly bytesWritten: number;
}

/**
 * Looks for a write that TCP has refused, because the other side has reset the connection. Node (24.21) keeps such bytes in TLS and sends
 * nothing after them, so no later write ends. If nothing reads the connection at that moment, nobody ever learns that it is gone: a session
 * of HTTP/2 reads nothing while one of its writes waits.
 *
 * Calls `lost` within this turn of the event loop if bytes wait in TLS and none in TCP. They may be on their way: a write that
 * the kernel takes at once is reported by an immediate. So it looks twice, the second time behind those immediates.
 */
export function findLostWrite(raw: Socket, secured: TLSSocket, lost: () => void): void {
  const before = leftBehind(raw, secured);
  if (before === undefined) return;
  setImmediate(() => {
    const now = leftBehind(raw, secured);
    if (now?.waiting === before.waiting && now.given === before.given) lost();
  });
}

/** What waits in TLS while TCP has nothing to send, and what TCP was given so far. */
function leftBehind(raw: Socket, secured: TLSSocket) {
  const waiting = handleOf(secured)?.writeQueueSize ?? 0;
  if (waiting === 0) return undefined;
  const below = handleOf(raw);
  return below?.writeQueueSize === 0 ? { waiting, given: below.bytesWritten } : undefined;
}

/** Node does not document it. Undefined: another Node, or the socket is closed. */
function handleOf(socket: Socket): WritingHandle | undefined {
  const handle = "_handle" in socket ? socket._handle : undefined;
  return isWritingHandle(handle) ? handle : undefined;
}

function isWritingHandle(handle: unknown): handle is WritingHandle {
  return typeof handle === "object" && handle !== null && "writeQueueSize" in handle && "bytesWritten" in handle;
}
