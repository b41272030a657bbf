import { type Dispatcher, Pool } from "undici";
import { abortable } from "../../lib/process/lifecycle.ts";
import { type Place, SharedPlaces } from "../../lib/queues/shared-places.ts";
import { type Rate, TokenBuckets } from "../../lib/queues/token-buckets.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { type ClockReading, hasJumped, readClocks } from "../../lib/time/clock-jumps.ts";
import type { Turns } from "../../lib/time/turns.ts";
import type { KubeConnection, TlsMaterial } from "./connection.ts";
import { ApiUnreachable } from "./errors.ts";
import { type Answer, type Call, encode, nameOf, parsedValue, read, toFailure } from "./http-call.ts";
import type { RequestMetrics } from "./request-metrics.ts";

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
  /** The most that calls of one namespace have. */
  readonly connections: number;
  /** For calls of other namespaces, while one has all of `connections`. */
  readonly spareConnections: number;
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

type Pools = Readonly<Record<"calls" | "spareCalls" | "reviews" | "streams", Pool>>;

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
  /** One for each connection for calls. */
  readonly #places: SharedPlaces;

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
    const { connections, spareConnections, reviewConnections } = options;
    const limits = { bodyTimeout: callLimitMs, maxResponseSize: options.answerBytesMax ?? answerBytesMax };
    this.#places = new SharedPlaces(connections + spareConnections, spareConnections);
    this.#openPools = () => {
      const each = { ...shared, connect: { ...this.#tls, timeout: connectLimitMs } };
      const calls = { ...each, ...limits };
      return {
        calls: new Pool(origin, { ...calls, connections }),
        // Pools of their own: a pool opens a connection also for a call that comes just before another one is free.
        spareCalls: new Pool(origin, { ...calls, connections: Math.max(spareConnections, 1) }),
        reviews: new Pool(origin, { ...calls, connections: reviewConnections }),
        // A silent watch is not an error; its user limits the silence. Each watch has its own connection.
        streams: new Pool(origin, { ...each, bodyTimeout: 0 }),
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
    const answer = await this.#askUntilNotBusy(call, either);
    if (answer.text.length >= largeAnswer) await this.#options.turns?.rest(call.namespace);
    const value = parsedValue(call, answer);
    return value;
  }

  async *stream(path: string, signal: AbortSignal, onOpen?: () => void): AsyncIterable<Uint8Array> {
    signal.throwIfAborted();
    const call: Call = { method: "GET", path };
    const response = await this.#send("streams", call, signal);
    if (response.statusCode >= 300) parsedValue(call, await read(call, response, signal));
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

  async #askUntilNotBusy(call: Call, signal: AbortSignal): Promise<Answer> {
    for (let retries = 0; ; retries += 1) {
      const answer = await this.#ask(call, signal);
      const waitMs = retries < busyRetriesMax ? busyWaitMs(call, answer) : undefined;
      if (waitMs === undefined) return answer;
      await this.#options.clock.sleep(waitMs, signal);
    }
  }

  async #ask(call: Call, signal: AbortSignal): Promise<Answer> {
    if (call.isReview) return await read(call, await this.#send("reviews", call, signal), signal);
    using place = await this.#placeFor(call, signal);
    return await read(call, await this.#send(place.isLast ? "spareCalls" : "calls", call, signal), signal);
  }

  /** A call has a connection until its response has been read: one that hangs keeps none from other namespaces. */
  async #placeFor({ method, namespace = "" }: Call, signal: AbortSignal): Promise<Place> {
    try {
      return await this.#places.take(namespace, signal);
    } catch (reason) {
      this.#options.metrics?.unanswered(method);
      throw reason;
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

/** The server's `Retry-After` in milliseconds, if a retry is safe and not too late. */
function busyWaitMs(call: Call, { code, retryAfter }: Answer): number | undefined {
  if (code !== 429 || call.method === "POST") return undefined;
  const seconds = Number(retryAfter ?? Number.NaN);
  return seconds >= 0 && seconds * 1000 <= busyWaitMaxMs ? seconds * 1000 : undefined;
}
