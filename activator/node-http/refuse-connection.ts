import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { toResponse } from "../answer.ts";
import { ActivatorError } from "../errors.ts";

/** Why Node's HTTP parser gave up on a connection. */
export type ParserError = NodeJS.ErrnoException & { readonly reason?: string };

/** What the parser's complaint means to the client. */
export function errorOfParser({ code, reason }: ParserError): ActivatorError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new ActivatorError("HeadersTooLarge");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new ActivatorError("BodyTooLarge");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ActivatorError("RequestTimedOut");
    default:
      return new ActivatorError("MalformedRequest", { because: reason ?? "" });
  }
}

/** Answers on a connection on which no request could be read, and closes it. */
export function refuseConnection(socket: Duplex & { destroySoon?(): void }, error: ActivatorError): void {
  if (!socket.writable) return void socket.destroy();
  const { status, headers, body } = toResponse(error);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  if (socket.destroySoon) socket.destroySoon();
  else socket.end();
}
