import { type Dispatcher, Pool, errors as undiciErrors } from "undici";
import type { Status } from "../../api/kinds/meta.ts";
import { parseWithLongIntegers } from "../../lib/data/exact-json.ts";
import { abortable } from "../../lib/process/lifecycle.ts";
import { type Rate, TokenBuckets } from "../../lib/queues/token-buckets.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { type ClockReading, hasJumped, readClocks } from "../../lib/time/clock-jumps.ts";
import type { Turns } from "../../lib/time/turns.ts";
import type { KubeConnection, TlsMaterial } from "./connection.ts";
import { AnswerTooLarge, ApiError, ApiUnreachable, NotEncodable, NotServed } from "./errors.ts";
import type { RequestMetrics } from "./request-metrics.ts";

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Including the query. */
  readonly path: string;
  /** Calls of different namespaces take turns; absent: a call of no namespace. */
  readonly namespace?: string | undefined;
  readonly body?: unknown;
  /** Default: `application/json`. */
  readonly contentType?: string;
  /** A review of a token or of access. It waits for none but other reviews, and nothing else waits for it. */
  readonly isReview?: boolean;
  /** Called each time that the call is about to be sent, after all waits but that for a connection; throws if it may not be sent. */
  readonly mayCall?: (() => void) | undefined;
}

/** Requests and responses as JSON. Only this interface classifies failures. */
export interface Transport extends AsyncDisposable {
  /** The parsed response. Limited to `callLimitMs`, including waits for a busy server. */
  call(call: Call, signal?: AbortSignal): Promise<unknown>;
  /** The bytes of a response without a time limit; `onOpen` is called when it has begun. */
  stream(path: string, signal: AbortSignal, onOpen?: () => void): AsyncIterable<Uint8Array>;
}

export interface TransportOptions {
  readonly userAgent: string;
  readonly clock: Clock;
  readonly connections: number;
  /** For reviews, besides `connections`. */
  readonly reviewConnections: number;
  readonly metrics?: RequestMetrics | undefined;
  /** For calls; streams are few. */
  readonly rate?: Rate | undefined;
  /** Encoding and parsing large bodies takes long, and so does the work that follows. Absent: no turns. */
  readonly turns?: Turns | undefined;
  /** The largest accepted response to a call; absent: 256 MiB. */
  readonly answerBytesMax?: number | undefined;
}

type Pools = Readonly<Record<"calls" | "reviews" | "streams", Pool>>;

const never = new AbortController().signal;
const callLimitMs = 30_000;
const connectLimitMs = 10_000;
// A page of 500 objects of 1.5 MiB each is larger, and is read in parts. A runaway response ends here.
const answerBytesMax = 256 * 1024 * 1024;
// In characters. Smaller responses are parsed and handled within a millisecond or two.
const largeAnswer = 64 * 1024;
const busyRetriesMax = 4;
const busyWaitMaxMs = 10_000;

/** Disposing aborts pending requests. */
export class HttpTransport implements Transport {
  readonly #connection: KubeConnection;
  readonly #options: TransportOptions;
  readonly #prefix: string;
  readonly #openPools: () => Pools;
  #pools: Pools;
  /** The TLS settings of the pools. */
  #tls: TlsMaterial;
  /** Those before a suspension of the machine, or with other TLS settings, until their last response has ended. */
  readonly #former = new Set<Pool>();
  #sentAt: ClockReading;
  readonly #permits: TokenBuckets | undefined;

  constructor(connection: KubeConnection, options: TransportOptions) {
    const { origin, pathname } = new URL(connection.server);
    const shared: Pool.Options = {
      headersTimeout: callLimitMs,
      // Over HTTP/1.1 a stalled watch cannot use up the flow-control window of other calls.
      allowH2: false,
    };
    this.#connection = connection;
    this.#options = options;
    this.#prefix = pathname.replace(/\/$/, "");
    const limits = { bodyTimeout: callLimitMs, maxResponseSize: options.answerBytesMax ?? answerBytesMax };
    this.#openPools = () => {
      const connect = { ...this.#tls, timeout: connectLimitMs };
      return {
        calls: new Pool(origin, { ...shared, ...limits, connect, connections: options.connections }),
        reviews: new Pool(origin, { ...shared, ...limits, connect, connections: options.reviewConnections }),
        // A silent watch is not an error; its user limits the silence. Each watch has its own connection.
        streams: new Pool(origin, { ...shared, connect, bodyTimeout: 0 }),
      };
    };
    this.#tls = connection.tls;
    this.#pools = this.#openPools();
    this.#sentAt = readClocks(options.clock);
    this.#permits = options.rate && new TokenBuckets(options.rate, options.clock);
  }

  async call(call: Call, signal?: AbortSignal): Promise<unknown> {
    // Before the time limit starts: these waits are not the server's.
    await this.#waitForPermit(signal ?? never);
    if (call.body !== undefined) await this.#options.turns?.rest(call.namespace);
    const limit = new AbortController();
    using _timer = this.#options.clock.after(callLimitMs, () => {
      limit.abort(new ApiUnreachable(`${nameOf(call)}: no response within ${callLimitMs / 1000} s`));
    });
    const either = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;
    either.throwIfAborted();
    return await read(call, await this.#sendUntilNotBusy(call, either), { signal: either, turns: this.#options.turns });
  }

  async *stream(path: string, signal: AbortSignal, onOpen?: () => void): AsyncIterable<Uint8Array> {
    signal.throwIfAborted();
    const call: Call = { method: "GET", path };
    const response = await this.#send("streams", call, signal);
    if (response.statusCode >= 300) await read(call, response, { signal });
    onOpen?.();
    try {
      yield* response.body;
    } catch (cause) {
      throw toFailure(call, cause, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...Object.values(this.#pools), ...this.#former].map((pool) => pool.destroy()));
  }

  async #waitForPermit(signal: AbortSignal): Promise<void> {
    const waitMs = this.#permits?.take("", Number.POSITIVE_INFINITY) ?? 0;
    if (waitMs > 0) await this.#options.clock.sleep(waitMs, signal);
  }

  async #sendUntilNotBusy(call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    for (let retries = 0; ; retries += 1) {
      const response = await this.#send(call.isReview ? "reviews" : "calls", call, signal);
      const waitMs = retries < busyRetriesMax ? busyWaitMs(call, response) : undefined;
      if (waitMs === undefined) return response;
      await response.body.dump();
      await this.#options.clock.sleep(waitMs, signal);
    }
  }

  /**
   * A suspension of the machine stops the timers of idle connections: the server may have closed them, unseen. Then new ones are opened,
   * as with a new CA or certificate.
   */
  #poolsOfNow(): Pools {
    const now = readClocks(this.#options.clock);
    const { tls } = this.#connection;
    if (hasJumped(this.#sentAt, now) || tls !== this.#tls) {
      this.#tls = tls;
      for (const pool of Object.values(this.#pools)) this.#retire(pool);
      this.#pools = this.#openPools();
    }
    this.#sentAt = now;
    return this.#pools;
  }

  #retire(pool: Pool): void {
    this.#former.add(pool);
    const forget = () => void this.#former.delete(pool);
    pool.close().then(forget, forget); // once its last response has ended
  }

  async #headersOf(call: Call, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    try {
      return {
        accept: "application/json",
        "user-agent": this.#options.userAgent,
        ...(call.body !== undefined && { "content-type": call.contentType ?? "application/json" }),
        ...(await abortable(this.#connection.authHeaders(), signal)),
      };
    } catch (cause) {
      this.#options.metrics?.unanswered(call.method);
      throw toFailure(call, cause, signal);
    }
  }

  async #send(kind: keyof Pools, call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { metrics } = this.#options;
    const body = encode(call);
    const headers = await this.#headersOf(call, signal);
    call.mayCall?.();
    try {
      const response = await this.#poolsOfNow()[kind].request({
        method: call.method,
        path: this.#prefix + call.path,
        headers,
        ...(body !== undefined && { body }),
        signal,
      });
      metrics?.answered(call.method, response.statusCode);
      if (response.statusCode === 401) this.#connection.refused?.();
      return response;
    } catch (cause) {
      metrics?.unanswered(call.method);
      if (!signal.aborted) this.#connection.refused?.();
      throw toFailure(call, cause, signal);
    }
  }
}

function encode(call: Call): string | undefined {
  try {
    return JSON.stringify(call.body);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new NotEncodable(`${nameOf(call)}: the object cannot be encoded: ${why}`, { cause });
  }
}

/** The server's `Retry-After` in milliseconds, if a retry is safe and not too late. */
function busyWaitMs(call: Call, { statusCode, headers }: Dispatcher.ResponseData): number | undefined {
  if (statusCode !== 429 || call.method === "POST") return undefined;
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  return seconds >= 0 && seconds * 1000 <= busyWaitMaxMs ? seconds * 1000 : undefined;
}

async function read(
  call: Call,
  response: Dispatcher.ResponseData,
  { signal, turns }: { readonly signal: AbortSignal; readonly turns?: Turns | undefined },
): Promise<unknown> {
  const { statusCode: code, body } = response;
  const text = await body.text().catch((cause: unknown) => {
    throw toFailure(call, cause, signal);
  });
  if (text.length >= largeAnswer) await turns?.rest(call.namespace);
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

function toFailure(call: Call, cause: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (cause instanceof ApiUnreachable) return cause;
  if (cause instanceof undiciErrors.ResponseExceededMaxSizeError) {
    return new AnswerTooLarge(`${nameOf(call)}: the response exceeds the size limit`, { cause });
  }
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ApiUnreachable(`${nameOf(call)}: ${why}`, { cause });
}

const nameOf = ({ method, path }: Call): string => `${method} ${path}`;
