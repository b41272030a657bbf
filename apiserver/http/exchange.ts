import type { IncomingMessage, ServerResponse } from "node:http";
import { dropRest } from "../../lib/net/one-request.ts";
import type { StatusError } from "../status-errors.ts";
import type { UnsentAnswers } from "./unsent-answers.ts";

/** One request, parsed up to its path, and its response. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The parts of a request target. It is not normalized: a path with `..` matches nothing. */
export function readTarget(url: string): Pick<Exchange, "path" | "query"> {
  const mark = url.indexOf("?");
  if (mark < 0) return { path: url, query: new URLSearchParams() };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

export interface Answer {
  readonly code: number;
  /** JSON when absent. */
  readonly contentType?: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/** The response is a stream that has begun. */
export const streaming = Symbol("streaming");
export type Handled = Answer | typeof streaming;

export function jsonAnswer(code: number, json: string, headers?: Answer["headers"]): Answer {
  return { code, body: json, ...(headers && { headers }) };
}

/** As an API server of Kubernetes: if all warnings have more characters, each is cut to the second number, and the last ones are left out. */
const warningsMax = 4_096;
const warningMax = 256;

/**
 * Adds RFC 7234 warnings to the response, one to a header, for the user of the client. They may have any characters: the names of
 * unknown fields come from the client. The text is UTF-8, as from Kubernetes.
 */
export function warn(response: ServerResponse, texts: readonly string[]): void {
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  let left = warningsMax;
  for (const text of new Set(texts)) {
    const shown = (total > warningsMax ? text.slice(0, warningMax) : text).toWellFormed().replace(controls, " ");
    left -= shown.length;
    if (left < 0) return;
    const quoted = `"${shown.replace(/["\\]/g, "\\$&")}"`;
    response.appendHeader("warning", `299 - ${Buffer.from(quoted).toString("latin1")}`);
  }
}

/** Control characters, which a header cannot have. */
const controls = /\p{Cc}/gu;

export function refusalAnswer({ code, status, retryAfterSeconds }: StatusError): Answer {
  const headers = retryAfterSeconds === undefined ? undefined : { "retry-after": String(retryAfterSeconds) };
  return jsonAnswer(code, JSON.stringify(status), headers);
}

/**
 * Sends an answer. If it is not the answer to a change that is stored, it needs room among those that clients have not taken.
 *
 * @throws StatusError 429 without room.
 */
export function send(
  { request, response }: Pick<Exchange, "request" | "response">,
  answer: Answer,
  { unsent, isStored }: { readonly unsent: UnsentAnswers; readonly isStored: boolean },
): void {
  const bytes = Buffer.isBuffer(answer.body) ? answer.body : Buffer.from(answer.body);
  if (!isStored) unsent.refuseWithoutRoom(bytes.length);
  unsent.add(response, bytes.length);
  // The rest of a body must not be parsed as the next request.
  dropRest(request);
  response.writeHead(answer.code, {
    "content-type": answer.contentType ?? "application/json",
    "content-length": bytes.length,
    "cache-control": "no-cache, private",
    ...answer.headers,
  });
  response.end(bytes);
}
