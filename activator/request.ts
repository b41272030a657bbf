import type { ErrorCode } from "./errors.ts";

export type HeaderPair = readonly [name: string, value: string];

/** What a client said before its body. Strings hold one byte in each character, as they were on the wire. */
export interface RequestHead {
  readonly method: string;
  /** Path and query byte for byte, or `*`; an absolute-form target is reduced to it. */
  readonly target: string;
  /** The host that the request names, as sent; empty where it names none. */
  readonly host: string;
  /** In order, with duplicates. */
  readonly headers: readonly HeaderPair[];
  /** Address of the other end of the TCP connection, never from a header. */
  readonly peer: string;
  /** The client asks for another protocol on this connection. */
  readonly upgrade: boolean;
}

/** An answer that is ours and not a sandbox's. */
export interface Synthetic {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: string;
  /** Why we did not carry the request; absent for answers that are no errors. */
  readonly code?: ErrorCode;
}

/** Somebody who may leave before they got what they came for. */
export interface Leaver {
  readonly left: boolean;
  /** Who is told when they leave: one listener, in place of the one before. */
  onLeave(listener: (() => void) | undefined): void;
}

/** One request as the middle of the activator sees it, whatever protocol brought it. */
export interface Incoming extends Leaver {
  readonly head: RequestHead;
  /** Monotonic milliseconds of the clock when the head was complete. */
  readonly seenMs: number;
  /** Whether the client has left, or what it sends turned out to be malformed. */
  readonly left: boolean;
  /** Whether nothing of a response has been sent, so that `answer` still can. */
  readonly answerable: boolean;
  answer(response: Synthetic): void;
  /** Cuts the connection, so that the client sees that what it got is not whole. */
  abort(): void;
  /** Calls back once, when the exchange is over, however it ended; at once when it is already. */
  onEnded(listener: (ended: Ended) => void): void;
}

/** There is nobody to answer any more. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

export interface Ended {
  /** Of the final response; 499 when the client left before one. */
  readonly status: number;
  /** Body bytes that were sent to the client. */
  readonly bytesOut: number;
}

/** The values of a header in their order; `name` in lower case. */
export function headerValues(headers: readonly HeaderPair[], name: string): readonly string[] {
  let values: string[] | undefined;
  for (const pair of headers) {
    if (!isNamed(pair, name)) continue;
    if (values) values.push(pair[1]);
    else values = [pair[1]];
  }
  return values ?? none;
}

/** The first value of a header, trimmed; undefined where it is absent or empty. */
export function headerValue(headers: readonly HeaderPair[], name: string): string | undefined {
  for (const pair of headers) if (isNamed(pair, name)) return pair[1].trim() || undefined;
  return undefined;
}

const none: readonly string[] = [];

// Every request is asked for a dozen headers, and has few of them: the length alone tells most names apart.
const isNamed = ([each]: HeaderPair, name: string) => each.length === name.length && each.toLowerCase() === name;

/** Path of a request target, without the query. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}
