import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { keepShowing, type ShownCertificates, secretsOf } from "../../../lib/certificate-source.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { ActivatorError } from "../../errors.ts";
import type { ClientCertificates } from "../../https-config.ts";
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
import { type RequestHeadLimits, RequestHeadParser, requestHeadLimits } from "../request-head-parser.ts";
import { ClientConnection, type ConnectionHost } from "./client-connection.ts";
import type { Exchange } from "./exchange.ts";

export interface FrontOptions {
  /** Absent: every address. */
  readonly host: string | undefined;
  /** 0 means any. */
  readonly port: number;
  /** From the connection, or the first byte of a later request, to the end of the head. */
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxHeaderBytes: number;
  /** What is above it is closed at once, before it is read. */
  readonly maxConnections: number;
  /** Absent: without encryption. */
  readonly tls?: FrontTls;
}

export interface FrontTls {
  /** With the authority of clients, unless `clients` is off. */
  readonly certificates: ShownCertificates;
  readonly clients: ClientCertificates;
}

export interface FrontParts {
  readonly clock: Clock;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  /** Takes a request; never rejects. */
  readonly serve: (exchange: Exchange) => Promise<void>;
  readonly events: FrontEvents;
  /** Whether the process may have one more socket; absent: it always may. */
  readonly hasRoom?: () => boolean;
}

/** What happens at the front, for whoever counts it. */
export interface FrontEvents {
  connected(): void;
  disconnected(): void;
  /** There were too many connections, or sockets of the whole process. */
  dropped(): void;
  /** What came was no request. */
  refused(error: ActivatorError): void;
}

export interface Front extends AsyncDisposable {
  readonly address: AddressInfo;
  /** Requests that are held or carried now. */
  readonly active: number;
  /** From now on each response says that its connection is closed behind it. New connections are still accepted. */
  beginDrain(): void;
  /** Accepts no more connections, and closes idle ones: by now those in use have been told in a response. */
  stopAccepting(): void;
  /** Resolves as soon as no request is under way, and no accepted connection still has its first one to send. */
  idle(): Promise<void>;
}

/** Listens for HTTP/1.1 and hands every request that is well-formed to `serve`. */
export async function startHttp1Front(options: FrontOptions, parts: FrontParts): Promise<Front> {
  const front = new SocketFront(options, parts);
  await front.listen();
  return front;
}

class SocketFront implements Front, ConnectionHost, Acceptor {
  parser: RequestHeadParser;
  readonly loans: BufferLoans;
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  draining = false;
  accepting = true;
  active = 0;
  readonly #limits: RequestHeadLimits;
  readonly #options: FrontOptions;
  readonly #parts: FrontParts;
  readonly #server: Server;
  readonly #connections = new Set<ClientConnection>();
  /** Accepted, and not encrypted yet; by the client's address and port, which its encrypted socket has too. */
  readonly #handshaking = new Map<string, Socket>();
  readonly #idleWaiters: (() => void)[] = [];

  constructor(options: FrontOptions, parts: FrontParts) {
    this.#limits = { ...requestHeadLimits, sectionBytesMax: options.maxHeaderBytes };
    this.parser = new RequestHeadParser(this.#limits);
    this.loans = parts.loans;
    this.headersTimeoutMs = options.headersTimeoutMs;
    this.keepAliveTimeoutMs = options.keepAliveTimeoutMs;
    this.#options = options;
    this.#parts = parts;
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
    const { headersTimeoutMs } = this.#options;
    const tls = {
      ...settings,
      ...secretsOf(certificates),
      ALPNProtocols: ["http/1.1"],
      handshakeTimeout: headersTimeoutMs,
    };
    // Not half-open, as in Node's own server: a client that leaves within its handshake would stay for ever.
    const server = createTlsServer({ ...acceptedSocket, ...tls }, (accepted) => {
      this.#handshaking.delete(peerOf(accepted));
      if (clients === "optional" && !accepted.authorized && hasCertificate(accepted)) return void accepted.destroy();
      this.#accept(accepted, "events");
    });
    // A client that breaks off its handshake is no news.
    server.on("tlsClientError", () => {});
    server.on("connection", (raw) => this.#beginHandshake(raw));
    const following = keepShowing(server, certificates, settings);
    return server.once("close", () => following[Symbol.dispose]());
  }

  #beginHandshake(raw: Socket): void {
    const peer = peerOf(raw);
    this.#handshaking.set(peer, raw);
    raw.once("close", () => {
      if (this.#handshaking.get(peer) === raw) this.#handshaking.delete(peer);
      this.#tellIfIdle();
    });
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
        this.#server.on("error", () => {}); // one connection that could not be accepted; the next may be
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
    for (const connection of this.#connections) connection.closeIdle();
  }

  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const { socket } of this.#connections) socket.destroy();
    for (const socket of this.#handshaking.values()) socket.destroy();
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
    this.#tellIfIdle();
  }

  refused(error: ActivatorError): void {
    this.#parts.events.refused(error);
  }

  closed(connection: ClientConnection): void {
    if (!this.#connections.delete(connection)) return;
    this.#parts.sweep.remove(connection);
    this.#parts.events.disconnected();
    this.#tellIfIdle();
  }

  get #isIdle(): boolean {
    return (
      this.active === 0 && this.#handshaking.size === 0 && !this.#connections.values().some(({ awaited }) => awaited)
    );
  }

  #tellIfIdle(): void {
    if (this.#idleWaiters.length === 0 || !this.#isIdle) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  /** What is encrypted has a handle too, but not one that hands out what was sent. */
  #accept(accepted: Socket, by?: Adoption): void {
    if (this.hasRoom()) adoptAccepted(accepted, (socket) => this.readerOf(socket), by);
    else accepted.destroy();
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
    return connection;
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

const hasCertificate = (socket: TLSSocket): boolean => Object.keys(socket.getPeerCertificate()).length > 0;

/** Crowds arrive at once when a sandbox that many use is woken; the kernel has its own, often lower, limit. */
const backlog = 4_096;
