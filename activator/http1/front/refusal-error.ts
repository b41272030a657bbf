import { STATUS_CODES } from "node:http";
import { toResponse } from "../../failures/error-response.ts";
import { ActivatorError } from "../../failures/errors-for-clients.ts";
import { type Refusal, statusOf } from "../parse/refusals.ts";

/** The error for a refused message. CONNECT is rejected as such, whatever else is wrong. */
export function errorOfRefusal(refusal: Refusal, method = ""): ActivatorError {
  if (method === "CONNECT") return new ActivatorError("MethodNotAllowed");
  switch (statusOf(refusal)) {
    case 413:
      return new ActivatorError("BodyTooLarge");
    case 414:
      return new ActivatorError("TargetTooLong");
    case 431:
      return new ActivatorError("HeadersTooLarge");
    default:
      return new ActivatorError("MalformedRequest", { because: inWords(refusal) });
  }
}

/** `SpaceBeforeColon` is "space before colon". */
const inWords = (refusal: Refusal) => refusal.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();

/** A complete response with the reason, after which the connection ends; one character per byte. */
export function refusalText(error: ActivatorError): string {
  const { status, headers, body } = toResponse(error);
  const bytes = Buffer.from(body);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines}`;
  return `${head}Content-Length: ${bytes.length}\r\nConnection: close\r\n\r\n${bytes.toString("latin1")}`;
}
