import { type Dispatcher, errors as undiciErrors } from "undici";
import type { Status } from "../../api/kinds/meta.ts";
import { parseWithLongIntegers } from "../../lib/data/exact-json.ts";
import { AnswerTooLarge, ApiError, ApiUnreachable, NotEncodable, NotServed } from "./errors.ts";

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Including the query. */
  readonly path: string;
  /** The namespaces share the connections and take turns; absent: a call of no namespace, which counts as one of them. */
  readonly namespace?: string | undefined;
  readonly body?: unknown;
  /** Default: `application/json`. */
  readonly contentType?: string;
  /** A review of a token or of access. It waits for none but other reviews, and nothing else waits for it. */
  readonly isReview?: boolean;
  /** Called each time that the call is about to be sent, after all waits; throws if it may not be sent. */
  readonly mayCall?: (() => void) | undefined;
}

/** A response that was read to its end. */
export interface Answer {
  readonly code: number;
  readonly retryAfter: string | string[] | undefined;
  readonly text: string;
}

/** @throws NotEncodable */
export function encode(call: Call): string | undefined {
  try {
    return JSON.stringify(call.body);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new NotEncodable(`${nameOf(call)}: the object cannot be encoded: ${why}`, { cause });
  }
}

export async function read(call: Call, response: Dispatcher.ResponseData, signal: AbortSignal): Promise<Answer> {
  const { statusCode, headers, body } = response;
  const text = await body.text().catch((cause: unknown) => {
    throw toFailure(call, cause, signal);
  });
  return { code: statusCode, retryAfter: headers["retry-after"], text };
}

/** The parsed response of success. @throws ApiError, NotServed or ApiUnreachable for every other one. */
export function parsedValue(call: Call, { code, text }: Answer): unknown {
  const answer = parseJson(text);
  if (code >= 200 && code < 300 && answer !== undefined) return answer;
  if (code >= 400 && isStatus(answer)) throw new ApiError(code, answer);
  if (code === 404 && text.trim() === nothingThere)
    throw new NotServed(`${nameOf(call)}: the API server serves no such kind`);
  throw new ApiUnreachable(`${nameOf(call)}: response ${code} is not from an API server`);
}

/** The response of an API server to paths that it does not serve. */
const nothingThere = "404 page not found";

function parseJson(text: string): unknown {
  try {
    return parseWithLongIntegers(text);
  } catch {
    return undefined;
  }
}

const isStatus = (answer: unknown): answer is Status =>
  typeof answer === "object" && answer !== null && "kind" in answer && answer.kind === "Status";

/** What a call rejects with that got no whole response. */
export function toFailure(call: Call, cause: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (cause instanceof ApiUnreachable) return cause;
  if (cause instanceof undiciErrors.ResponseExceededMaxSizeError) {
    return new AnswerTooLarge(`${nameOf(call)}: the response exceeds the size limit`, { cause });
  }
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ApiUnreachable(`${nameOf(call)}: ${why}`, { cause });
}

export const nameOf = ({ method, path }: Call): string => `${method} ${path}`;
