import type { IncomingMessage, ServerResponse } from "node:http";
import { bodyTooLarge, type StatusError } from "./status-errors.ts";

/** One request, read as far as the path; and the one who will be answered. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface Answer {
  readonly code: number;
  readonly contentType?: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

export const jsonAnswer = (code: number, body: string): Answer => ({ code, body });

export function send(response: ServerResponse, { code, contentType, body, headers = {} }: Answer): void {
  const bytes = Buffer.from(body);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.writeHead(code, {
    "content-type": contentType ?? "application/json",
    "content-length": bytes.length,
    "cache-control": "no-cache, private",
  });
  response.end(bytes);
}

/**
 * The body of a request as it came.
 *
 * @throws StatusError 413 as soon as it is known to be longer than `maxBytes`.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function answerOf(error: StatusError): Answer {
  const answer = jsonAnswer(error.code, JSON.stringify(error.status));
  const { retryAfterSeconds } = error;
  return retryAfterSeconds === undefined
    ? answer
    : { ...answer, headers: { "retry-after": String(retryAfterSeconds) } };
}
