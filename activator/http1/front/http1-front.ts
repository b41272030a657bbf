import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { TurnoverSet } from "../../../lib/data/turnover.ts";
import { IdleWaiters } from "../../../lib/process/idle-waiters.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { ActivatorError } from "../../failures/errors-for-clients.ts";
import { lastClosesMs, type ProtocolFront, type RequestFront } from "../../front.ts";
import { originOf } from "../../socket/client-origin.ts";
import type { Introduction } from "../../socket/proxy-protocol/awaited-header.ts";
import type { HeaderGate, OpenGate } from "../../socket/proxy-protocol/header-gate.ts";
import type { BufferLoans } from "../../socket/read-place.ts";
import {
  type Acceptor,
  acceptHandles,
  adoptAccepted,
  plainAcceptedSocket,
  type SocketReader,
  type WireSocket,
} from "../../socket/wire-socket.ts";
import type { Sweep } from "../../sweep.ts";
import { type RequestHeadLimits, RequestHeadParser, requestHeadLimits } from "../parse/request-head-parser.ts";
import { behindGate, createSecureServer, type FrontTls } from "../secure-server.ts";
import { ClientConnection } from "./client-connection.ts";
import type { ConnectionHost, FrontEvents } from "./connection-host.ts";
import type { Exchange } from "./exchange.ts";
import { Handshakes } from "./handshakes.ts";
import type { HeadBudget } from "./head-budget.ts";
import { LingeringClients } from "./lingering.ts";

export interface FrontOptions {
  /** Absent: all addresses. */
  readonly host: string | undefined;
  /** 0: any free port. */
  readonly port: number;
  /**
   * From the connection, or the first byte of a later request, to the end of the head; for TLS also to the end of the
   * handshake. Milliseconds.
   */
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** The maximum pause of a client within a response, in milliseconds; 0: unlimited. */
  readonly streamIdleMs: number;
  readonly maxHeaderBytes: number;
  /** Connections beyond this are closed on accept. */
  readonly maxConnections: number;
  /** Absent: plain HTTP. */
  readonly tls?: FrontTls;
}

export interface FrontParts {
  readonly clock: Clock;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  /** Shared by all fronts. */
  readonly heads: HeadBudget;
  /** Serves a request; never rejects. */
  readonly serve: (exchange: Exchange) => Promise<void>;
  readonly events: FrontEvents;
  /** Takes the connections of clients that speak HTTP/2; absent: they are refused. */
  readonly http2?: Pick<ProtocolFront, "adopt"> | undefined;
  /** Absent: a call of gRPC-Web is a request like any other. */
  readonly callOf?: ConnectionHost["callOf"];
  /** Whether the process may open one more socket; absent: always. */
  readonly hasRoom?: () => boolean;
  /** Absent: no connection begins with a PROXY header. */
  readonly openGate?: OpenGate | undefined;
}

/** Listens for HTTP/1.1 and passes every valid request to `serve`. */
export async function startHttp1Front(options: FrontOptions, parts: FrontParts): Promise<RequestFront> {
  const front = new SocketFront(options, parts);
  await front.listen();
  return front;
}

class SocketFront implements RequestFront, ConnectionHost, Acceptor {
  parser: RequestHeadParser;
  readonly loans: BufferLoans;
  readonly heads: HeadBudget;
  readonly callOf: ConnectionHost["callOf"];
  readonly lingering: LingeringClients = new LingeringClients();
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly streamIdleMs: number;
  draining = false;
  accepting = true;
  active = 0;
  readonly #limits: RequestHeadLimits;
  readonly #options: FrontOptions;
  readonly #parts: FrontParts;
  readonly #server: Server;
  readonly #connections = new TurnoverSet<ClientConnection>();
  /**
   * Of the search for an awaited connection: the last one found, and those that were not searched since. Absent before the
   * replica exits, because an iterator keeps closed connections in memory.
   */
  #awaited: ClientConnection | undefined;
  #unsearched: SetIterator<ClientConnection> | undefined;
  readonly #handshakes: Handshakes;
  readonly #gate: HeaderGate | undefined;
  readonly #idleWaiters = new IdleWaiters(() => this.#isIdle);

  constructor(options: FrontOptions, parts: FrontParts) {
    this.#limits = { ...requestHeadLimits, sectionBytesMax: options.maxHeaderBytes };
    this.parser = new RequestHeadParser(this.#limits);
    this.loans = parts.loans;
    this.heads = parts.heads;
    this.callOf = parts.callOf;
    this.headersTimeoutMs = options.headersTimeoutMs;
    this.keepAliveTimeoutMs = options.keepAliveTimeoutMs;
    this.streamIdleMs = options.streamIdleMs;
    this.#options = options;
    this.#parts = parts;
    this.#handshakes = new Handshakes({
      ...{ clock: parts.clock, sweep: parts.sweep, limitMs: options.headersTimeoutMs },
      onFailed: (failure) => parts.events.handshakeFailed(failure),
      onClosed: () => this.#idleWaiters.ended(),
    });
    this.#gate = parts.openGate?.(options.tls ? "https" : "http", () => this.#idleWaiters.ended());
    this.#server = options.tls ? this.#createTlsServer(options.tls) : this.#createPlainServer();
    this.#server.maxConnections = options.maxConnections;
    this.#server.on("drop", () => parts.events.dropped());
  }

  #createPlainServer(): Server {
    return createServer(plainAcceptedSocket, (accepted) => this.#accept(accepted));
  }

  #createTlsServer(tls: FrontTls): Server {
    const { http2, clock, events } = this.#parts;
    const server = createSecureServer(tls, {
      ...{ offersHttp2: http2 !== undefined, clock, onOverhead: () => events.overheadCut() },
      limitMs: this.#options.headersTimeoutMs,
      onSecured: (secured) => this.#secured(secured),
    });
    server.on("connection", (raw: Socket) => {
      if (this.hasRoom()) this.#handshakes.begin(raw);
      else raw.destroy();
    });
    return this.#gate ? behindGate(server, this.#gate, () => this.hasRoom()) : server;
  }

  /** A TLS socket has a handle too, but not one whose input can be read directly. */
  #secured(secured: TLSSocket): void {
    this.#handshakes.succeeded(secured);
    if (isGone(secured) || !this.hasRoom()) return void secured.destroy();
    const introduction = this.#gate?.introductionOf(secured);
    if (secured.alpnProtocol === "h2") {
      const origin = originOf(secured, introduction);
      this.#parts.http2?.adopt({
        socket: secured,
        early: undefined,
        origin,
        dueMs: this.nowMs() + this.headersTimeoutMs,
      });
    } else adoptAccepted(secured, (socket) => this.#connectionOf(socket, introduction), "events");
  }

  get address(): AddressInfo {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the front does not listen");
    return address;
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      const { host, port } = this.#options;
      this.#server.listen({ port, backlog, ...(host !== undefined && { host }) }, () => {
        this.#server.off("error", reject);
        if (!this.#options.tls) acceptHandles(this.#server, this);
        this.#server.on("error", () => {}); // one connection failed to be accepted; later ones may succeed
        resolve();
      });
    });
  }

  beginDrain(): void {
    this.draining = true;
  }

  stopAccepting(): void {
    this.accepting = false;
    this.#server.close();
    this.#gate?.finish();
    this.#handshakes.finish();
    for (const connection of this.#connections) connection.closeIdle();
  }

  endWebSockets(): void {
    for (const connection of this.#connections) connection.endGracefully();
  }

  idle(): Promise<void> {
    return this.#idleWaiters.untilIdle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.cut();
    this.#gate?.cutAll();
    this.#handshakes.cutAll();
    await closed;
    await this.#idleWaiters.untilIdleWithin(lastClosesMs, this.#parts.clock);
  }

  giveParser(): RequestHeadParser {
    const { parser } = this;
    this.parser = new RequestHeadParser(this.#limits);
    return parser;
  }

  nowMs(): number {
    return this.#parts.clock.ticksMs();
  }

  began(exchange: Exchange): void {
    this.active += 1;
    void this.#parts.serve(exchange);
  }

  ended(): void {
    this.active -= 1;
    this.#idleWaiters.ended();
  }

  refused(error: ActivatorError): void {
    this.#parts.events.refused(error);
  }

  closed(connection: ClientConnection): void {
    if (!this.#connections.delete(connection)) return;
    this.#parts.sweep.remove(connection);
    this.#parts.events.disconnected();
    this.#idleWaiters.ended();
  }

  get #isIdle(): boolean {
    const unnamed = this.#handshakes.size + (this.#gate?.size ?? 0);
    return this.active + unnamed + this.lingering.size === 0 && !this.#hasAwaited;
  }

  /** A search begins where the last one ended, because it runs at the close of every connection. */
  get #hasAwaited(): boolean {
    if (this.#awaited?.awaited) return true;
    this.#awaited = this.#unsearched?.find(isAwaited);
    if (this.#awaited) return true;
    this.#unsearched = this.#connections.walk();
    this.#awaited = this.#unsearched.find(isAwaited);
    return this.#awaited !== undefined;
  }

  #accept(accepted: Socket): void {
    if (this.hasRoom()) adoptAccepted(accepted, (socket) => this.readerOf(socket));
    else accepted.destroy();
  }

  yielded(connection: ClientConnection, early: Buffer): boolean {
    if (!this.#parts.http2) return false;
    this.closed(connection);
    const { socket, origin } = connection;
    this.#parts.http2.adopt({ socket, early, origin, dueMs: this.nowMs() + this.headersTimeoutMs });
    return true;
  }

  hasRoom(): boolean {
    const has = this.#parts.hasRoom?.() ?? true;
    if (!has) this.#parts.events.dropped();
    return has;
  }

  readerOf(socket: WireSocket): SocketReader {
    return this.#gate?.expects(socket)
      ? this.#gate.readerOf(socket, (introduction) => this.#connectionOf(socket, introduction))
      : this.#connectionOf(socket);
  }

  #connectionOf(socket: WireSocket, introduction?: Introduction): ClientConnection {
    this.#parts.events.connected();
    const connection = new ClientConnection(socket, this, introduction);
    this.#connections.add(connection);
    this.#parts.sweep.add(connection);
    if (isGone(socket)) socket.destroy();
    return connection;
  }
}

/** A client that has reset its connection has no address, and what it sent before could still be read. */
const isGone = ({ remoteAddress }: Pick<Socket, "remoteAddress">): boolean => remoteAddress === undefined;

const isAwaited = ({ awaited }: ClientConnection): boolean => awaited;

/** Crowds arrive at once when a busy sandbox wakes; the kernel's own limit is often lower. */
const backlog = 4_096;
