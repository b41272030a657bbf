import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { keepShowing, type ShownCertificates, secretsOf } from "../../../lib/certificates/certificate-source.ts";
import { limitTlsOverhead } from "../../../lib/net/tls-overhead.ts";
import { IdleWaiters } from "../../../lib/process/idle-waiters.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { ClientCertificates } from "../../config/https-config.ts";
import type { ActivatorError } from "../../failures/error-codes.ts";
import type { ProtocolFront, RequestFront } from "../../front.ts";
import type { BufferLoans } from "../../socket/read-place.ts";
import {
  type Acceptor,
  type Adoption,
  acceptedSocket,
  acceptHandles,
  adoptAccepted,
  plainAcceptedSocket,
  type WireSocket,
} from "../../socket/wire-socket.ts";
import type { Sweep } from "../../sweep.ts";
import { type RequestHeadLimits, RequestHeadParser, requestHeadLimits } from "../parse/request-head-parser.ts";
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

export interface FrontTls {
  /** With the client CA, unless `clients` is off. */
  readonly certificates: ShownCertificates;
  readonly clients: ClientCertificates;
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
  readonly #connections = new Set<ClientConnection>();
  /**
   * Of the search for an awaited connection: the last one found, and those that were not searched since. Absent before the
   * replica exits, because an iterator keeps closed connections in memory.
   */
  #awaited: ClientConnection | undefined;
  #unsearched: SetIterator<ClientConnection> | undefined;
  readonly #handshakes: Handshakes;
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
    this.#server = options.tls ? this.#createTlsServer(options.tls) : this.#createPlainServer();
    this.#server.maxConnections = options.maxConnections;
    this.#server.on("drop", () => parts.events.dropped());
  }

  #createPlainServer(): Server {
    return createServer(plainAcceptedSocket, (accepted) => this.#accept(accepted));
  }

  #createTlsServer({ certificates, clients }: FrontTls): Server {
    const settings = {
      minVersion: "TLSv1.2",
      requestCert: clients !== "off",
      rejectUnauthorized: clients === "required",
    } as const;
    const tls = {
      ...settings,
      ...secretsOf(certificates),
      ALPNProtocols: this.#parts.http2 ? ["h2", "http/1.1"] : ["http/1.1"],
      // `Handshakes` enforces the limit. Node's own timer has a coarser clock and must not end the connection before.
      handshakeTimeout: this.#options.headersTimeoutMs + 1_000,
    };
    // Half-open only after the handshake: else a client that leaves during it would stay until its limit.
    const server = createTlsServer({ ...acceptedSocket, ...tls }, (accepted) => {
      if (clients === "optional" && !accepted.authorized && hasCertificate(accepted)) return void accepted.destroy();
      this.#handshakes.succeeded(accepted);
      if (accepted.alpnProtocol === "h2") this.#adoptHttp2(accepted);
      else this.#accept(accepted, "events");
    });
    // Node reports the error and leaves the connection open; its close is counted.
    server.on("tlsClientError", (_, secured) => secured.destroy());
    server.on("connection", (raw: Socket) => {
      if (this.hasRoom()) this.#handshakes.begin(raw);
      else raw.destroy();
    });
    limitTlsOverhead(server, { clock: this.#parts.clock, onCut: () => this.#parts.events.overheadCut() });
    const following = keepShowing(server, certificates, settings);
    return server.once("close", () => following[Symbol.dispose]());
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
    this.#handshakes.cutAll();
    await closed;
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
    return this.active === 0 && this.#handshakes.size === 0 && this.lingering.size === 0 && !this.#hasAwaited;
  }

  /** A search begins where the last one ended, because it runs at the close of every connection. */
  get #hasAwaited(): boolean {
    if (this.#awaited?.awaited) return true;
    this.#awaited = this.#unsearched?.find(isAwaited);
    if (this.#awaited) return true;
    this.#unsearched = this.#connections.values();
    this.#awaited = this.#unsearched.find(isAwaited);
    return this.#awaited !== undefined;
  }

  /** A TLS socket has a handle too, but not one whose input can be read directly. */
  #accept(accepted: Socket, by?: Adoption): void {
    if (this.hasRoom()) adoptAccepted(accepted, (socket) => this.readerOf(socket), by);
    else accepted.destroy();
  }

  #adoptHttp2(socket: TLSSocket): void {
    if (isGone(socket) || !this.hasRoom()) return void socket.destroy();
    this.#parts.http2?.adopt({ socket, early: undefined, dueMs: this.nowMs() + this.headersTimeoutMs });
  }

  yielded(connection: ClientConnection, early: Buffer): boolean {
    if (!this.#parts.http2) return false;
    this.closed(connection);
    this.#parts.http2.adopt({ socket: connection.socket, early, dueMs: this.nowMs() + this.headersTimeoutMs });
    return true;
  }

  hasRoom(): boolean {
    const has = this.#parts.hasRoom?.() ?? true;
    if (!has) this.#parts.events.dropped();
    return has;
  }

  readerOf(socket: WireSocket): ClientConnection {
    this.#parts.events.connected();
    const connection = new ClientConnection(socket, this);
    this.#connections.add(connection);
    this.#parts.sweep.add(connection);
    if (isGone(socket)) socket.destroy();
    return connection;
  }
}

/** A client that has reset its connection has no address, and what it sent before could still be read. */
const isGone = ({ remoteAddress }: Pick<Socket, "remoteAddress">): boolean => remoteAddress === undefined;

const isAwaited = ({ awaited }: ClientConnection): boolean => awaited;

const hasCertificate = (socket: TLSSocket): boolean => Object.keys(socket.getPeerCertificate()).length > 0;

/** Crowds arrive at once when a busy sandbox wakes; the kernel's own limit is often lower. */
const backlog = 4_096;
