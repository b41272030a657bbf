import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { TurnoverSet } from "../../lib/data/turnover.ts";
import { guarded, runGuarded } from "../../lib/guard/guard.ts";
import type { Logger } from "../../lib/log/log.ts";
import { IdleWaiters } from "../../lib/process/idle-waiters.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import { type Front, lastClosesMs } from "../front.ts";
import { loggedCharactersMax } from "../request.ts";
import type { Introduction } from "../socket/proxy-protocol/awaited-header.ts";
import type { HeaderGate, OpenGate } from "../socket/proxy-protocol/header-gate.ts";
import { resetSocket } from "../socket/reset-socket.ts";
import {
  adoptAccepted,
  adoptionOf,
  cutConnection,
  plainAcceptedSocket,
  type SocketReader,
  type WireSocket,
} from "../socket/wire-socket.ts";
import type { Sweep } from "../sweep.ts";
import { earlyPlace, TcpClient } from "../tcp-front/connection/tcp-client.ts";
import type { TcpDestination } from "../tcp-front/connection/tcp-destination.ts";
import type { TcpMetrics } from "../tcp-front/connection/tcp-metrics.ts";
import { type FindByNameDeps, findByName } from "./find-by-name.ts";
import type { NamedClient } from "./name-reader.ts";
import { unknownName } from "./tls-alerts.ts";
import { UnnamedClient } from "./unnamed-client.ts";
import { UnnamedClients } from "./unnamed-clients.ts";

export interface ByNameFrontOptions {
  /** Absent: all addresses. */
  readonly host: string | undefined;
  /** 0: any free port. */
  readonly port: number;
  /** How long a client may take to name its sandbox, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** Connections beyond this are reset at once. */
  readonly maxConnections: number;
}

export interface ByNameFrontParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly mayLog: OncePerMinute;
  readonly sweep: Sweep;
  readonly metrics: Pick<TcpMetrics, "refused">;
  readonly find: FindByNameDeps;
  /** Whether the process may open another socket. */
  readonly hasRoom: () => boolean;
  /** Absent: no connection begins with a PROXY header. */
  readonly openGate?: OpenGate | undefined;
  /** Serves a connection; never rejects. */
  readonly serve: (client: TcpClient, to: TcpDestination, asPostgres: boolean) => Promise<void>;
}

/** How long a client may take to name its sandbox after the front stopped accepting, in milliseconds. */
const lastNamesMs = 1_000;

/** Why a connection was rejected before it had a sandbox, in the words of metrics and logs. */
type Refusal = Parameters<TcpMetrics["refused"]>[0];

/** Listens for clients that name their sandbox within TLS, which the sandbox terminates, and passes their connections on. */
export class ByNameFront implements Front {
  readonly #options: ByNameFrontOptions;
  readonly #parts: ByNameFrontParts;
  readonly #server: Server;
  readonly #unnamed: UnnamedClients;
  /** Every open connection; the socket's close removes it. */
  readonly #open = new TurnoverSet<WireSocket>();
  readonly #gate: HeaderGate | undefined;
  readonly #idleWaiters = new IdleWaiters(() => this.#active + this.#waiting === 0);
  #active = 0;
  #isFinishing = false;

  constructor(options: ByNameFrontOptions, parts: ByNameFrontParts, unnamed: UnnamedClients = new UnnamedClients()) {
    this.#options = options;
    this.#parts = parts;
    this.#unnamed = unnamed;
    this.#gate = parts.openGate?.("byName", () => this.#idleWaiters.ended());
    const accept = (socket: Socket) => this.#accept(socket);
    this.#server = createServer(plainAcceptedSocket, guarded("by-name", accept, resetSocket));
  }

  /** @throws Error if it cannot listen on the port. */
  async listen(): Promise<void> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ port, backlog, ...(host !== undefined && { host }) }, resolve);
    });
    this.#server.removeAllListeners("error").on("error", () => {}); // one connection failed to be accepted; later ones may succeed
  }

  get address(): AddressInfo {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the front does not listen");
    return address;
  }

  /** Stops accepting, and closes connections that have sent nothing. */
  stopAccepting(): void {
    this.#isFinishing = true;
    this.#server.close();
    this.#gate?.finish();
    for (const { socket, isSilent } of [...this.#unnamed]) if (isSilent) socket.destroy();
  }

  idle(): Promise<void> {
    return this.#idleWaiters.untilIdle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#gate?.cutAll();
    // Reset, not ended: an end would mark it as complete.
    for (const socket of this.#open) cutConnection(socket);
    await closed;
    await this.#idleWaiters.untilIdleWithin(lastClosesMs, this.#parts.clock);
  }

  /** The number of connections whose sandbox is not known yet. */
  get #waiting(): number {
    return this.#unnamed.size + (this.#gate?.size ?? 0);
  }

  #accept(accepted: Socket): void {
    const { metrics, hasRoom } = this.#parts;
    const isFull = this.#active + this.#waiting >= this.#options.maxConnections;
    if (isFull || !hasRoom()) {
      metrics.refused(isFull ? "TooManyConnections" : "NoDescriptors");
      resetSocket(accepted);
      return;
    }
    adoptAccepted(accepted, (socket) => this.#readerOf(socket), adoptionOf(accepted), earlyPlace);
  }

  #readerOf(socket: WireSocket): SocketReader {
    return this.#gate?.expects(socket)
      ? this.#gate.readerOf(socket, (introduction) => this.#clientOf(socket, introduction))
      : this.#clientOf(socket);
  }

  #clientOf(socket: WireSocket, introduction?: Introduction): UnnamedClient {
    const { headersTimeoutMs } = this.#options;
    // After the end of accepting, one more comes here behind its PROXY header.
    const limitMs = this.#isFinishing ? Math.min(headersTimeoutMs, lastNamesMs) : headersTimeoutMs;
    const client = new UnnamedClient(socket, {
      ...this.#parts,
      ...{ limitMs, introduction },
      onNamed: (_, named) => this.#named(client, named),
      onRefused: (_, reason) => this.#refused(client, reason),
    });
    this.#open.add(socket);
    socket.once("close", () => {
      this.#open.delete(socket);
      this.#leave(client);
    });
    const last = this.#unnamed.add(client);
    if (last) {
      last.over();
      this.#refused(last, "TooManyUnnamed");
      last.refuse(undefined);
    }
    return client;
  }

  /** The bytes belong to the client from now on: what lives as long as the connection must not hold them. */
  #named(unnamed: UnnamedClient, { name, bytes, asPostgres }: NamedClient): void {
    const { socket, introduction } = unnamed;
    const client = new TcpClient(socket, this.#parts.clock, { early: bytes, leavesByEnd: true, introduction });
    socket.reader = client;
    runGuarded(
      "by-name",
      () => this.#serve(unnamed, client, name, asPostgres),
      () => socket.reset(),
    );
  }

  async #serve(unnamed: UnnamedClient, client: TcpClient, name: string, asPostgres: boolean): Promise<void> {
    const { find, serve } = this.#parts;
    const found = await findByName(name, client, unnamed.dueMs, find);
    if (client.left) return;
    client.onLeave(undefined);
    if ("refusal" in found) {
      this.#refused(unnamed, found.refusal, name);
      return unnamed.refuse(found.refusal === "ClusterUnseen" ? undefined : unknownName);
    }
    this.#active += 1;
    this.#leave(unnamed);
    try {
      await serve(client, found, asPostgres);
    } finally {
      this.#active -= 1;
      this.#idleWaiters.ended();
    }
  }

  #leave(client: UnnamedClient): void {
    client.over();
    if (this.#unnamed.remove(client)) this.#idleWaiters.ended();
  }

  #refused({ peer, introduction }: UnnamedClient, reason: Refusal, name?: string): void {
    const { metrics, log, mayLog } = this.#parts;
    metrics.refused(reason);
    if (!mayLog.asks(`by name: ${reason}`)) return;
    const clientIp = introduction?.clientIp ?? peer;
    log.warn({ reason, peer, clientIp, name: name?.slice(0, loggedCharactersMax) }, "connection by name rejected");
  }
}

/** Crowds arrive at once when a busy sandbox wakes; the kernel's own limit is often lower. */
const backlog = 1_024;
