import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { type Clock, systemClock } from "../time/clock.ts";
import { droppedBytesMax, pendingResponseOn } from "./one-request.ts";

/** How long a client may take to read the answer to malformed input, in milliseconds. */
const lingerMs = 5_000;

/** The statuses of Node's own answers, by the code of the error; 400 for all others. */
const statuses = new Map([
  ["HPE_HEADER_OVERFLOW", "431 Request Header Fields Too Large"],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", "413 Payload Too Large"],
  ["ERR_HTTP_REQUEST_TIMEOUT", "408 Request Timeout"],
]);

/**
 * Answers malformed requests, and requests that take too long, as Node does. But Node closes the connection at once. If the client
 * still sends, its kernel then drops the answer (RFC 9112, 9.6). So here our side ends first, and what comes is dropped until the
 * client ends its side, within limits. A response that is complete is the answer.
 */
export function answerMalformed(server: Server<typeof IncomingMessage>, clock: Clock = systemClock): void {
  /** By connection: the bytes that had been read with its answer. */
  const answered = new WeakMap<Socket, number>();
  // Node emits it again for each further read of such a connection: its parser reads on and fails again.
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const readBefore = answered.get(socket);
    if (readBefore !== undefined) {
      if (socket.bytesRead - readBefore > droppedBytesMax) socket.destroy();
      return;
    }
    const response = pendingResponseOn(socket);
    const hasBegun = response?.headersSent === true;
    // An answer within another response would be read as a part of it.
    if (!socket.writable || (hasBegun && !response.writableEnded)) return void socket.destroy();
    answered.set(socket, socket.bytesRead);
    const limit = clock.after(lingerMs, () => socket.destroy());
    socket.once("close", () => limit.cancel());
    const status = statuses.get(error.code ?? "") ?? "400 Bad Request";
    socket.end(hasBegun ? "" : `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  });
}
