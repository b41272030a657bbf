import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../lib/clock.ts";
import { toResponse } from "../answer.ts";
import { ActivatorError, toActivatorError } from "../errors.ts";
import type { RequestHead } from "../request.ts";
import { Http1Exchange } from "./exchange.ts";
import { lingerOnClose } from "./linger.ts";
import { headersMax, readHead } from "./read-head.ts";
import { errorOfParser, type ParserError, refuseConnection } from "./refuse-connection.ts";

export interface FrontOptions {
  /** Absent: every address. */
  readonly host: string | undefined;
  /** 0 means any. */
  readonly port: number;
  /** From the connection, or the end of the previous response's idle time, to the end of the head. */
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxHeaderBytes: number;
  readonly clock: Clock;
}

export interface Front extends AsyncDisposable {
  readonly address: AddressInfo;
  /** Requests that are held or carried now. */
  readonly active: number;
  /** From now on connections are closed once their response is sent; idle ones at once. New ones are still accepted. */
  beginDrain(): void;
  /** Accepts no more connections. */
  stopAccepting(): void;
  /** Resolves as soon as no request is under way. */
  idle(): Promise<void>;
}

/** A client that sends more requests ahead of their answers than this is cut off. */
const longestPipeline = 16;

/** Listens for HTTP/1.1 and hands every request that is well-formed to `serve`, which never rejects. */
export async function startHttp1Front(
  options: FrontOptions,
  serve: (exchange: Http1Exchange) => Promise<void>,
): Promise<Front> {
  const front = new NodeFront(options, serve);
  await front.listen();
  return front;
}

interface Connection {
  /** It was told that it is malformed; the parser complains again about all that follows. */
  spoilt: boolean;
  current: Http1Exchange | undefined;
  waiting: number;
  tail: Promise<unknown>;
}

class NodeFront implements Front {
  readonly #options: FrontOptions;
  readonly #serve: (exchange: Http1Exchange) => Promise<void>;
  readonly #server: Server;
  readonly #connections = new Map<Duplex, Connection>();
  readonly #active = new Set<Http1Exchange>();
  readonly #idleWaiters: (() => void)[] = [];
  #draining = false;

  constructor(options: FrontOptions, serve: (exchange: Http1Exchange) => Promise<void>) {
    this.#options = options;
    this.#serve = serve;
    this.#server = createServer({
      insecureHTTPParser: false,
      requireHostHeader: false, // checked in readHead, so that the client is told what is wrong
      maxHeaderSize: options.maxHeaderBytes,
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: 0, // a body may take as long as it flows; the carrier has a clock for that
      keepAliveTimeout: options.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, options.headersTimeoutMs),
      highWaterMark: 16 * 1024, // what a held request may cost us of its body
      // A server may ignore an offer to upgrade (RFC 9110, 7.8); with a body in between, bytes would be ambiguous.
      shouldUpgradeCallback: (request) =>
        request.headers["content-length"] === undefined && request.headers["transfer-encoding"] === undefined,
    });
    this.#server.maxHeadersCount = headersMax;
    this.#listenTo(this.#server);
  }

  get address(): AddressInfo {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the front does not listen");
    return address;
  }

  get active(): number {
    return this.#active.size;
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      const { host, port } = this.#options;
      this.#server.listen({ port, ...(host !== undefined && { host }) }, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
  }

  beginDrain(): void {
    this.#draining = true;
    this.#server.closeIdleConnections();
  }

  stopAccepting(): void {
    this.#server.close();
  }

  idle(): Promise<void> {
    if (this.#active.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#connections.keys()) socket.destroy(); // tunnels too, which the server no longer knows
    this.#server.closeAllConnections();
    await closed;
  }

  #listenTo(server: Server): void {
    server.on("connection", (socket) => this.#connected(socket));
    server.on("request", (request, response) => this.#enqueue(request, response, { expectsContinue: false }));
    server.on("checkContinue", (request, response) => this.#enqueue(request, response, { expectsContinue: true }));
    server.on("checkExpectation", (request, response) =>
      this.#enqueue(request, response, { expectsContinue: false, refusal: new ActivatorError("ExpectationFailed") }),
    );
    server.on("upgrade", (request, socket, early) => this.#upgrade(request, socket, early));
    server.on("connect", (_, socket) => refuseConnection(socket, new ActivatorError("MethodNotAllowed")));
    server.on("clientError", (error: NodeJS.ErrnoException & { reason?: string }, socket) =>
      this.#spoilt(error, socket),
    );
  }

  #connected(socket: Socket): void {
    lingerOnClose(socket, this.#options.clock);
    this.#connections.set(socket, { spoilt: false, current: undefined, waiting: 0, tail: Promise.resolve() });
    socket.once("close", () => this.#connections.delete(socket));
  }

  // Requests of one connection are served one after the other: what a client sent first happens first.
  #enqueue(
    request: IncomingMessage,
    response: ServerResponse,
    { expectsContinue, refusal }: { readonly expectsContinue: boolean; readonly refusal?: ActivatorError },
  ): void {
    const { socket } = request;
    const connection = this.#connections.get(socket);
    if (!connection || connection.waiting >= longestPipeline) return void socket.destroy();
    const first = connection.waiting === 0 && !connection.current;
    connection.waiting += 1;
    const seenMs = this.#options.clock.ticksMs();
    const turn = async () => {
      connection.waiting -= 1;
      if (socket.destroyed) return;
      const { head, error = refusal } = read(request, false);
      const closing = () => this.#draining || error !== undefined;
      const exchange = new Http1Exchange({ head, seenMs, request, response, socket, expectsContinue, closing });
      await this.#run(connection, exchange, error);
    };
    connection.tail = first ? turn() : connection.tail.then(turn);
  }

  #upgrade(request: IncomingMessage, duplex: Duplex, early: Buffer): void {
    const socket = request.socket;
    const connection = this.#connections.get(duplex);
    if (!connection || connection.current) return void duplex.destroy();
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    if (early.length > 0) socket.unshift(early);
    const seenMs = this.#options.clock.ticksMs();
    const { head, error } = read(request, true);
    const closing = () => true;
    const parts = { head, seenMs, request, response, socket, expectsContinue: false, closing };
    const exchange = new Http1Exchange(parts);
    socket.on("error", () => {}); // Node's own listener is off; the close that follows is what counts
    exchange.watchForLeaving();
    response.once("finish", () => socket.destroySoon());
    void this.#run(connection, exchange, error);
  }

  async #run(connection: Connection, exchange: Http1Exchange, error: ActivatorError | undefined): Promise<void> {
    connection.current = exchange;
    this.#active.add(exchange);
    if (error) exchange.answer(toResponse(error, exchange.head));
    else void this.#serve(exchange);
    await exchange.ended;
    connection.current = undefined;
    this.#active.delete(exchange);
    if (this.#active.size === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #spoilt(error: ParserError, socket: Duplex): void {
    const connection = this.#connections.get(socket);
    if (!connection || error.code === "ECONNRESET") return void socket.destroy();
    if (connection.spoilt) return;
    connection.spoilt = true;
    if (connection.current) connection.current.spoil(errorOfParser(error));
    else refuseConnection(socket, errorOfParser(error));
  }
}

const unreadable: RequestHead = { method: "", target: "", host: "", headers: [], peer: "", upgrade: false };

function read(
  request: IncomingMessage,
  upgrade: boolean,
): { readonly head: RequestHead; readonly error?: ActivatorError } {
  try {
    return { head: readHead(request, upgrade) };
  } catch (error) {
    return { head: { ...unreadable, method: request.method ?? "" }, error: toActivatorError(error) };
  }
}
