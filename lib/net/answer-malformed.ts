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
 * client ends its side, within limits. A response that is complete is the answer. Nothing of the connection is parsed after its
 * answer: the late rest of a request that got 408 must not complete the request.
 */
export function answerMalformed(server: Server<typeof IncomingMessage>, clock: Clock = systemClock): void {
  const answered = new WeakSet<Socket>();
  // Node emits "clientError" for it too. A client without TLS could read no answer, and would keep the connection for longer.
  server.prependListener("tlsClientError", (_: Error, socket: Socket) => void socket.destroy());
  // Node emits it again for an error of the connection, and when the client ends its side within a request.
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (answered.has(socket)) return;
    const response = pendingResponseOn(socket);
    const hasBegun = response?.headersSent === true;
    // An answer within another response would be read as a part of it.
    if (!socket.writable || (hasBegun && !response.writableEnded)) return void socket.destroy();
    answered.add(socket);
    dropInput(socket);
    const limit = clock.after(lingerMs, () => socket.destroy());
    socket.once("close", () => limit.cancel());
    const status = statuses.get(error.code ?? "") ?? "400 Bad Request";
    socket.end(hasBegun ? "" : `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  });
}

/** Takes what a client still sends away from Node's parser, and drops it, to a limit. */
function dropInput(socket: Socket): void {
  let dropped = 0;
  socket.removeAllListeners("data");
  // With a listener of our own, Node's parser no longer reads the connection below the socket.
  socket.on("data", (bytes: Buffer) => {
    dropped += bytes.length;
    if (dropped > droppedBytesMax) socket.destroy();
  });
  // A request whose body was read slowly may have paused it. Then Node's stream still waits for a read that went to the parser, and
  // begins no other by itself.
  socket.resume();
  socket._read(0);
}
