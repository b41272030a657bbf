import type { ErrorCode } from "./failures/errors-for-clients.ts";

export type HeaderPair = readonly [name: string, value: string];

/** The maximum characters of a value that a client chose, in the access log and in traces. */
export const loggedCharactersMax = 256;

/** By which protocol a request came, as the access log says it. */
export type RequestProtocol = "HTTP/1.0" | "HTTP/1.1" | "HTTP/2" | "gRPC" | "gRPC-Web";

/** The head of a client's request. Strings hold one byte per character, as on the wire. */
export interface RequestHead {
  readonly method: string;
  readonly protocol: RequestProtocol;
  /** Path and query byte for byte, or `*`; an absolute-form target is reduced to these. */
  readonly target: string;
  /** What the sandbox gets in its place, once a path has named the sandbox; undefined: `target`. */
  sandboxTarget?: string | undefined;
  /** The host of the request, as sent; empty if absent. */
  readonly host: string;
  /** In order, with duplicates. */
  readonly headers: readonly HeaderPair[];
  /** The address of the TCP peer, never from a header. Who is let in, and all limits, go by it. */
  readonly peer: string;
  /** The address of the client for logs and the sandbox, from the PROXY header of its connection; absent: `peer`. */
  readonly clientIp?: string;
  /** Whether the client's connection has TLS; absent: it has none. */
  readonly scheme?: "http" | "https";
  /** The client asks for an upgrade of this connection. */
  readonly upgrade: boolean;
  /** A call of gRPC: the sandbox gets it over HTTP/2, and its errors have statuses of gRPC. */
  readonly grpc?: GrpcCall | undefined;
  /** Its strings are parts of a text that is too large to be kept for long: copy what outlives the request (`ownText`). */
  readonly isLarge?: boolean;
  /** The memory that it takes until it is sent to a sandbox; absent: little. */
  readonly bytes?: number;
  /** What is kept of the body; absent: there is none. */
  readonly keptBody?: KeptBody | undefined;
}

/** What is kept of a body until something takes it. It grows as the body arrives. */
export interface KeptBody {
  /** The memory that it takes. */
  readonly keptBytes: number;
  /** Sets the listener for its growth in bytes. It replaces the former listener. */
  onGrowth(listener: ((bytes: number) => void) | undefined): void;
}

/** What the head of a call of gRPC says. */
export interface GrpcCall {
  /** How long it may take, in milliseconds from its head; undefined: without a limit. */
  readonly timeoutMs: number | "malformed" | undefined;
  /** Absent: the client has the trailers of HTTP/2. */
  readonly web?: WebForm;
}

/** The form of a call of gRPC-Web. */
export interface WebForm {
  /** The end of the content type that names the encoding of messages, such as `+proto`; empty without. */
  readonly codec: string;
  /** Whether the request is in base64. */
  readonly sendsText: boolean;
  /** Whether the response is in base64. */
  readonly takesText: boolean;
  /** The origin of the web page that may read the response; undefined: the activator permits none. */
  readonly origin: string | undefined;
}

/** A response of the activator, not of a sandbox. */
export interface Synthetic {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: string;
  /** The body, if it is no text; absent: `body`. */
  readonly bytes?: Buffer;
  /** Names in lower case; only responses to calls of gRPC have some. */
  readonly trailers?: readonly HeaderPair[];
  /** How a call of gRPC ended whose client reads that in the body. */
  readonly grpcStatus?: string;
  /** Why the request was rejected; absent for responses that are no errors. */
  readonly code?: ErrorCode;
}

export const bytesOf = ({ body, bytes }: Synthetic): Buffer => bytes ?? Buffer.from(body);

/** A client that may leave before it is served. */
export interface Leaver {
  readonly left: boolean;
  /** Sets the listener for the client's leaving. It replaces the former listener. */
  onLeave(listener: (() => void) | undefined): void;
}

/** One request, as the rest of the activator sees it, in any protocol. */
export interface Incoming extends Leaver {
  readonly head: RequestHead;
  /** Monotonic milliseconds at the end of the head. */
  readonly seenMs: number;
  /** Whether the client has left or sent something malformed. */
  readonly left: boolean;
  /** Whether no byte of a response was sent, so that `answer` is still possible. */
  readonly answerable: boolean;
  answer(response: Synthetic): void;
  /** Cuts the connection, so that the client sees an incomplete response. */
  abort(): void;
  /** Calls back once at the end of the exchange, whatever its outcome; at once if it has ended. */
  onEnded(listener: (ended: Ended) => void): void;
}

/** The client has left, so no response is possible. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

export interface Ended {
  /** Of the final response; 499 if the client left before it. */
  readonly status: number;
  /** Body bytes sent to the client. */
  readonly bytesOut: number;
  /** How a call of gRPC ended, by its trailers; undefined if the client got none. */
  readonly grpcStatus?: string | undefined;
}

/** The values of a header in order; `name` in lower case. */
export function headerValues(headers: readonly HeaderPair[], name: string): readonly string[] {
  let values: string[] | undefined;
  for (const pair of headers) {
    if (!isNamed(pair, name)) continue;
    if (values) values.push(pair[1]);
    else values = [pair[1]];
  }
  return values ?? none;
}

/** The first value of a header, trimmed; undefined if it is absent or empty. */
export function headerValue(headers: readonly HeaderPair[], name: string): string | undefined {
  for (const pair of headers) if (isNamed(pair, name)) return pair[1].trim() || undefined;
  return undefined;
}

const none: readonly string[] = [];

// Each request is searched for a dozen headers and has few of them: the length rules out most names.
const isNamed = ([each]: HeaderPair, name: string) => each.length === name.length && each.toLowerCase() === name;

/** Path and query as the sandbox gets them. */
export const sentTarget = ({ target, sandboxTarget }: Pick<RequestHead, "target" | "sandboxTarget">): string =>
  sandboxTarget ?? target;

/** The path of a request target, without the query. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}
