import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";

export interface Http2Answer {
  readonly status: number;
  /** Names and values in turn, as they arrived; without `:status`. */
  readonly fields: readonly string[];
  readonly body: string;
  /** Names and values in turn. */
  readonly trailers: readonly string[];
  /** The status of each interim response. */
  readonly interim: readonly number[];
  /** The code of RST_STREAM; 0: the response is complete. */
  readonly code: number;
}

/** A client of HTTP/2 for tests. */
export interface Http2Client extends Disposable {
  readonly session: ClientHttp2Session;
  /** Sends a request and reads its whole response. */
  ask(headers?: OutgoingHttpHeaders, body?: string | Buffer): Promise<Http2Answer>;
  /** Opens a stream whose body the caller sends. */
  open(headers?: OutgoingHttpHeaders): ClientHttp2Stream;
}

/** Connects by the preface in clear text; `origin` may also be an https URL. */
export function openHttp2Client(origin: string | number, options: Parameters<typeof connect>[1] = {}): Http2Client {
  const session = connect(typeof origin === "number" ? `http://127.0.0.1:${origin}` : origin, {
    ...{ rejectUnauthorized: false, strictSingleValueFields: false },
    ...options,
  });
  session.on("error", () => {});
  const open = (headers: OutgoingHttpHeaders = {}, endStream = false) => {
    const stream = session.request({ ":path": "/", ...headers }, { endStream });
    return stream.on("error", () => {});
  };
  return {
    session,
    open: (headers) => open(headers),
    ask(headers, body) {
      const stream = open(headers, body === undefined);
      if (body !== undefined) stream.end(body);
      return answerOf(stream);
    },
    [Symbol.dispose]: () => session.destroy(),
  };
}

/** Reads what comes on a stream, to its end or reset. */
export function answerOf(stream: ClientHttp2Stream): Promise<Http2Answer> {
  const interim: number[] = [];
  const pieces: Buffer[] = [];
  let [status, fields, trailers]: [number, readonly string[], readonly string[]] = [0, [], []];
  stream.on("headers", (headers) => void interim.push(Number(headers[":status"])));
  stream.on("response", (headers, _flags, raw) => {
    status = Number(headers[":status"]);
    fields = raw.slice(2);
  });
  stream.on("trailers", (_: unknown, _flags: number, raw: readonly string[]) => {
    trailers = raw;
  });
  stream.on("data", (bytes: Buffer) => void pieces.push(bytes));
  return new Promise((resolve) => {
    stream.once("close", () => {
      const body = Buffer.concat(pieces).toString("latin1");
      resolve({ status, fields, body, trailers, interim, code: stream.rstCode });
    });
  });
}

/** The values of a field, in order. */
export function valuesOf(fields: readonly string[], name: string): readonly string[] {
  return fields.filter((_, at) => at % 2 === 1 && fields[at - 1] === name);
}
