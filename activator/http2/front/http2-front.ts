import type { ServerOptions } from "node:http2";
import { TurnoverSet } from "../../../lib/data/turnover.ts";
import { IdleWaiters } from "../../../lib/process/idle-waiters.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { ActivatorError } from "../../failures/errors-for-clients.ts";
import { lastClosesMs, type ProtocolFront, type YieldedConnection } from "../../front.ts";
import type { HeadBudget } from "../../http1/front/head-budget.ts";
import { requestHeadLimits } from "../../http1/parse/request-head-parser.ts";
import type { Sweep } from "../../sweep.ts";
import type { ReadWebCall } from "../grpc-web/read-web-call.ts";
import type { Offence } from "../offences.ts";
import { StreamRoom } from "../room/stream-room.ts";
import type { WaitingBudget } from "../waiting-budget.ts";
import { ClientSession } from "./client-session.ts";
import { RequestReader } from "./request-reader.ts";
import type { SessionHost } from "./session-host.ts";
import { listBytesMax, sessionOptions } from "./session-options.ts";
import type { StreamExchange } from "./stream-exchange.ts";
import type { Tunnel } from "./stream-host.ts";

export interface Http2FrontOptions {
  readonly keepAliveTimeoutMs: number;
  /** The maximum pause of a client within a response, in milliseconds; 0: unlimited. */
  readonly streamIdleMs: number;
  readonly maxHeaderBytes: number;
  /** Streams of all connections beyond this are refused: as many requests as HTTP/1.1 has connections. */
  readonly maxConnections: number;
}

/** Events of the front, for metrics. */
export interface Http2Events {
  connected(): void;
  disconnected(): void;
  /** A stream had no valid request. */
  refused(error: ActivatorError): void;
  /** A stream was refused because of too many streams of all connections, or too many sockets of the process. */
  streamRefused(): void;
  /** A connection was closed because its client broke the protocol or a limit. */
  broke(offence: Offence): void;
}

export interface Http2FrontParts {
  readonly clock: Clock;
  readonly sweep: Sweep;
  /** Shared by all fronts. */
  readonly heads: HeadBudget;
  /** Shared by all that has streams of HTTP/2 on one side. */
  readonly waiting: WaitingBudget;
  /** Serves a request; never rejects. */
  readonly serve: (exchange: StreamExchange) => Promise<void>;
  readonly events: Http2Events;
  /** Reads calls of gRPC-Web; absent: such a request is like any other. */
  readonly webCallOf?: ReadWebCall;
  /** Called when the front is disposed of. */
  readonly dispose?: () => void;
  /** Whether the process may open one more socket, besides that many that requests in progress may open; absent: always. */
  readonly hasRoom?: ((besides: number) => boolean) | undefined;
}

/** Serves the connections whose clients speak HTTP/2. The front for HTTP/1.1 accepts them, and yields them to this one. */
export class Http2Front implements ProtocolFront, SessionHost {
  readonly requests: RequestReader;
  readonly sessionOptions: ServerOptions;
  readonly listBytesMax: number;
  readonly room: StreamRoom;
  readonly keepAliveTimeoutMs: number;
  readonly streamIdleMs: number;
  draining = false;
  leaving = false;
  active = 0;
  readonly #parts: Http2FrontParts;
  /** The number of connections that expect their first request, and of streams that wait for their turn. */
  #awaited = 0;
  readonly #sessions = new TurnoverSet<ClientSession>();
  readonly #tunnels = new TurnoverSet<Tunnel>();
  #isDisposed = false;
  readonly #idleWaiters = new IdleWaiters(() => this.#isIdle);

  constructor(options: Http2FrontOptions, parts: Http2FrontParts) {
    this.requests = new RequestReader(
      { ...requestHeadLimits, sectionBytesMax: options.maxHeaderBytes },
      parts.webCallOf,
    );
    this.listBytesMax = listBytesMax(options.maxHeaderBytes);
    this.sessionOptions = sessionOptions(this.listBytesMax);
    this.keepAliveTimeoutMs = options.keepAliveTimeoutMs;
    this.streamIdleMs = options.streamIdleMs;
    this.room = new StreamRoom({ max: options.maxConnections, hasSocket: parts.hasRoom });
    this.#parts = parts;
  }

  get sweep(): Sweep {
    return this.#parts.sweep;
  }

  get heads(): HeadBudget {
    return this.#parts.heads;
  }

  get waiting(): WaitingBudget {
    return this.#parts.waiting;
  }

  nowMs(): number {
    return this.#parts.clock.ticksMs();
  }

  adopt(connection: YieldedConnection): void {
    if (this.#isDisposed) return void connection.socket.destroy();
    this.#parts.events.connected();
    this.#awaited += 1;
    const session = new ClientSession(connection, this);
    this.#sessions.add(session);
    this.sweep.add(session);
  }

  beginDrain(): void {
    this.draining = true;
    for (const session of this.#sessions) session.announceEnd();
  }

  stopAccepting(): void {
    this.leaving = true;
    for (const session of this.#sessions) session.leave();
  }

  endWebSockets(): void {
    for (const tunnel of this.#tunnels) tunnel.endGracefully();
  }

  idle(): Promise<void> {
    return this.#idleWaiters.untilIdle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    for (const session of this.#sessions) session.cut();
    await this.#idleWaiters.untilIdleWithin(lastClosesMs, this.#parts.clock);
    this.#parts.dispose?.();
  }

  streamRefused(): void {
    this.#parts.events.streamRefused();
  }

  began(exchange: StreamExchange): void {
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

  opened(tunnel: Tunnel): void {
    this.#tunnels.add(tunnel);
  }

  tunnelClosed(tunnel: Tunnel): void {
    this.#tunnels.delete(tunnel);
  }

  expected(): void {
    this.#awaited += 1;
  }

  settled(): void {
    this.#awaited -= 1;
    this.#idleWaiters.ended();
  }

  broke(offence: Offence): void {
    this.#parts.events.broke(offence);
  }

  closed(session: ClientSession): void {
    if (!this.#sessions.delete(session)) return;
    this.sweep.remove(session);
    this.#parts.events.disconnected();
    this.#idleWaiters.ended();
  }

  get #isIdle(): boolean {
    return this.active === 0 && this.#awaited === 0;
  }
}
