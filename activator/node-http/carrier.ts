import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import type { Carry, CarryOptions } from "../carry/carry.ts";
import { hasBody, isChunked, requestHeaders, responseHeaders } from "../carry/forward-headers.ts";
import { keepAliveMs, type Pool } from "../carry/pool.ts";
import { StallWatch } from "../carry/stall-watch.ts";
import { ActivatorError } from "../errors.ts";
import type { Upstream } from "../reach/connector.ts";
import { ClientGone, headerValue } from "../request.ts";
import type { Http1Exchange } from "./exchange.ts";
import { pairsOf } from "./read-head.ts";
import { startTunnel } from "./tunnel.ts";

export interface CarrierOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly maxHeaderBytes: number;
  /** 0 means no limit. */
  readonly maxRequestBodyBytes: number;
  /** Longest time in which no byte of a response moves; 0 means no limit. */
  readonly streamIdleMs: number;
  /** Longest life of one exchange from its first byte to the sandbox; 0 means no limit. */
  readonly totalMs: number;
  readonly tunnelIdleMs: number;
  readonly tunnelLifetimeMs: number;
}

/** Carries HTTP/1.1 over Node's own client, on a connection that exists before anything is sent. */
export function createHttp1Carrier(options: CarrierOptions): Carry<Http1Exchange> {
  return async (exchange, upstream, how) => {
    using unused = new DisposableStack();
    unused.defer(() => upstream.socket.destroy()); // Node refuses a head with a throw
    const carriage = new Carriage(exchange, upstream, how, options);
    unused.move();
    await carriage.run();
  };
}

/**
 * One exchange between a client and a sandbox.
 *
 *   sending ──response──▶ answering ──both ends──▶ done
 *      │ └─────101──────▶ tunnel ─────both ends──▶ done
 *      └── fails: the client gets an error            (later failures cut the client's connection)
 */
class Carriage {
  readonly #exchange: Http1Exchange;
  readonly #upstream: Upstream;
  readonly #how: CarryOptions;
  readonly #options: CarrierOptions;
  readonly #outgoing: ClientRequest;
  readonly #answering = Promise.withResolvers<void>();
  readonly #stall: StallWatch;
  #answered = false;
  #continued = false;

  constructor(exchange: Http1Exchange, upstream: Upstream, how: CarryOptions, options: CarrierOptions) {
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#how = how;
    this.#options = options;
    const { socket } = upstream;
    this.#outgoing = this.#request();
    const progress = () => socket.bytesRead + socket.bytesWritten;
    this.#stall = new StallWatch(options.clock, progress, () => this.#fail("SandboxSlow"));
  }

  /** Resolves when the exchange is over; rejects with what to answer while nothing was answered yet. */
  async run(): Promise<void> {
    const { gone, ended } = this.#exchange;
    const leave = () => this.#outgoing.destroy(new ClientGone("the client left"));
    gone.addEventListener("abort", leave, { once: true });
    if (gone.aborted) leave();
    const { totalMs, clock } = this.#options;
    const total = totalMs > 0 ? clock.after(totalMs, () => this.#fail("SandboxSlow")) : undefined;
    try {
      this.#listen();
      this.#stall.limit(this.#how.responseStartMs);
      this.#sendBody();
      await this.#answering.promise;
      await ended;
    } finally {
      total?.cancel();
      this.#stall[Symbol.dispose]();
      gone.removeEventListener("abort", leave);
    }
  }

  #request(): ClientRequest {
    const { head } = this.#exchange;
    const { target, socket } = this.#upstream;
    const authority = `${target.ip.includes(":") ? `[${target.ip}]` : target.ip}:${target.port}`;
    const outgoing = request({
      createConnection: () => socket,
      method: head.method,
      path: head.target,
      headers: requestHeaders(head, { ...this.#how, authority }).flat(),
      maxHeaderSize: this.#options.maxHeaderBytes,
      insecureHTTPParser: false,
    });
    outgoing.shouldKeepAlive = true; // without an agent Node would close, whatever the header says
    return outgoing;
  }

  #listen(): void {
    this.#outgoing.on("response", (response) => this.#answer(response));
    this.#outgoing.on("upgrade", (response, _, early) => this.#switch(response, early));
    this.#outgoing.on("continue", () => this.#continue());
    // Other interim answers are dropped: some clients take a 103 for the final one (spec router 9).
    this.#outgoing.on("information", () => {});
    this.#outgoing.on("error", (error) => this.#failed(error));
    this.#outgoing.on("close", () => this.#failed(new Error("the connection was closed without a response")));
  }

  #sendBody(): void {
    const { request: body, head, expectsContinue } = this.#exchange;
    // A body that nobody promised must not become one; a tunnel's bytes follow after the 101.
    if (head.upgrade || !hasBody(head.headers)) return void this.#outgoing.end();
    this.#outgoing.flushHeaders(); // the sandbox may have an answer to the head alone
    if (expectsContinue) this.#continue();
    this.#limitBody(body);
    body.pipe(this.#outgoing, { end: false });
    body.once("end", () => {
      const trailers = pairsOf(body.rawTrailers);
      if (trailers.length > 0)
        this.#outgoing.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]));
      this.#outgoing.end();
    });
  }

  #limitBody(body: IncomingMessage): void {
    const { maxRequestBodyBytes } = this.#options;
    if (maxRequestBodyBytes <= 0) return;
    let leftBytes = maxRequestBodyBytes;
    body.on("data", (chunk: Buffer) => {
      leftBytes -= chunk.length;
      if (leftBytes < 0) this.#fail("BodyTooLarge");
    });
  }

  #continue(): void {
    if (this.#continued || this.#answered || this.#exchange.request.httpVersion === "1.0") return;
    this.#continued = true;
    this.#exchange.response.writeContinue();
  }

  #answer(incoming: IncomingMessage): void {
    const { response, request: body, head } = this.#exchange;
    this.#begin();
    const headers = pairsOf(incoming.rawHeaders);
    const withTrailer = isChunked(headers) && body.httpVersion === "1.1" && head.method !== "HEAD";
    const trailer = withTrailer ? headers.filter(([name]) => name.toLowerCase() === "trailer") : [];
    this.#exchange.begin(incoming.statusCode ?? 502, incoming.statusMessage ?? "", [
      ...responseHeaders(headers),
      ...trailer,
    ]);
    incoming.on("data", (chunk: Buffer) => {
      this.#exchange.bytesOut += chunk.length;
    });
    incoming.pipe(response, { end: false });
    incoming.once("end", () => this.#complete(incoming));
    incoming.once("close", () => incoming.complete || this.#exchange.abort());
    // Head and first bytes leave together if both are here; a head whose body is slow does not wait for it.
    setImmediate(() => response.writableEnded || response.flushHeaders());
  }

  #complete(incoming: IncomingMessage): void {
    const { response, request: body, socket } = this.#exchange;
    const trailers = pairsOf(incoming.rawTrailers).map(([name, value]): [string, string] => [name, value]);
    if (trailers.length > 0) response.addTrailers(trailers);
    if (!body.complete) {
      // Answered early: what is still to come of the request is nobody's any more.
      body.unpipe(this.#outgoing);
      this.#outgoing.destroy();
      response.once("finish", () => socket.destroySoon());
    } else {
      this.#keep(incoming);
    }
    response.end();
  }

  /** Gives the connection back once Node has let go of it, which it does when both messages are complete. */
  #keep(incoming: IncomingMessage): void {
    const { socket, target } = this.#upstream;
    const said = keepAliveMs(headerValue(pairsOf(incoming.rawHeaders), "keep-alive"));
    socket.once("free", () => this.#options.pool.put(target, socket, said));
  }

  #switch(incoming: IncomingMessage, early: Buffer): void {
    if (!this.#exchange.head.upgrade) {
      this.#upstream.socket.destroy();
      return this.#failed(new ActivatorError("UnaskedUpgrade", { subject: this.#how.subject }));
    }
    this.#begin();
    this.#stall.limit(this.#options.tunnelIdleMs);
    const { tunnelLifetimeMs, clock } = this.#options;
    startTunnel(this.#exchange, { socket: this.#upstream.socket, incoming, early }, tunnelLifetimeMs, clock);
  }

  #begin(): void {
    this.#answered = true;
    this.#stall.limit(this.#options.streamIdleMs);
    this.#how.onFirstByte();
    this.#answering.resolve();
  }

  #fail(code: "SandboxSlow" | "BodyTooLarge"): void {
    this.#failed(new ActivatorError(code, { subject: this.#how.subject }));
    this.#outgoing.destroy();
    this.#upstream.socket.destroy();
  }

  /** What ends the exchange before its time: told to the client if it can be, else it sees a cut connection. */
  #failed(cause: Error): void {
    if (this.#answered) {
      const { response } = this.#exchange;
      // A request that could not be sent to its end does no harm to a response that came whole.
      if (!response.writableEnded && (cause instanceof ActivatorError || cause instanceof ClientGone))
        this.#exchange.abort();
      return;
    }
    const known = cause instanceof ActivatorError || cause instanceof ClientGone;
    this.#answering.reject(known ? cause : new ActivatorError("ResponseLost", { subject: this.#how.subject, cause }));
  }
}
