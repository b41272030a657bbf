import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Connector } from "../../activator/connect/connector.ts";
import { toResponse } from "../../activator/failures/error-response.ts";
import { ActivatorError, toActivatorError } from "../../activator/failures/errors-for-clients.ts";
import type { RequestFront } from "../../activator/front.ts";
import type { Exchange } from "../../activator/http1/front/exchange.ts";
import { HeadBudget, type UnfinishedHead, unfinishedHeadBytesMax } from "../../activator/http1/front/head-budget.ts";
import { type FrontOptions, startHttp1Front } from "../../activator/http1/front/http1-front.ts";
import { createHttp1Proxy, type Http1ProxyOptions } from "../../activator/http1/proxy/create-http1-proxy.ts";
import { Http2Front, type Http2FrontParts } from "../../activator/http2/front/http2-front.ts";
import type { StreamExchange } from "../../activator/http2/front/stream-exchange.ts";
import { CallConnector } from "../../activator/http2/grpc/call-connector.ts";
import { PodSessions } from "../../activator/http2/grpc/pod-sessions.ts";
import { createWebProxy } from "../../activator/http2/grpc-web/create-web-proxy.ts";
import { callOfWire, webCallReader } from "../../activator/http2/grpc-web/read-web-call.ts";
import type { Offence } from "../../activator/http2/offences.ts";
import { createHttp2Proxy } from "../../activator/http2/proxy/create-http2-proxy.ts";
import { WaitingBudget, waitingBytesMax } from "../../activator/http2/waiting-budget.ts";
import { idleLimits } from "../../activator/pod-connections/idle-limits.ts";
import { Pool } from "../../activator/pod-connections/pool.ts";
import type { ProxyRequest, ProxyRequestOptions } from "../../activator/proxy-interface.ts";
import { ClientGone, type Ended } from "../../activator/request.ts";
import { BufferLoans } from "../../activator/socket/read-place.ts";
import type { WireSocket } from "../../activator/socket/wire-socket.ts";
import { Sweep } from "../../activator/sweep.ts";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { type Message, WireReader } from "../http1/wire-reader.ts";
import { eventually } from "./eventually.ts";

/** A front and a proxy without the other steps: every request goes to one back-end. */
export interface ProxyPath extends AsyncDisposable {
  readonly port: number;
  readonly front: RequestFront;
  /** Serves the connections whose clients speak HTTP/2. */
  readonly http2: Http2Front;
  /** Why connections of HTTP/2 were cut. */
  readonly offences: readonly Offence[];
  readonly pool: Pool;
  /** The records of finished requests. */
  readonly ends: readonly Ended[];
  /** Errors that clients got, by code. */
  readonly refusals: readonly string[];
  /** The connections of the last proxied request. */
  readonly sockets: { readonly client: WireSocket; readonly sandbox: WireSocket } | undefined;
  /** The sandbox's connection of the last proxied request, over any protocol. */
  readonly upstream: WireSocket | undefined;
  /** Connections for calls of gRPC. */
  readonly sessions: number;
  /** Read buffers that sockets use. */
  readonly lent: number;
  /** Connections of clients: all, those that are open, those that were closed unread, and those cut for overhead of TLS. */
  readonly connections: Readonly<Record<"opened" | "open" | "dropped" | "cut", number>>;
  /** Heads that arrived in parts, and heads that were shed for lack of memory. */
  readonly unfinishedHeads: { readonly begun: number; readonly shed: number };
  /** The memory of unfinished heads, in bytes. */
  readonly unfinishedBytes: number;
  /** What waits on streams of HTTP/2. */
  readonly waiting: WaitingBudget;
  /** Reports the Pod of the back-end as gone. */
  podGone(): void;
  /** Resolves when no request, client, watch or buffer is left, except those of idle connections. */
  empty(): Promise<void>;
}

const defaults = {
  ...{ headersTimeoutMs: 10_000, keepAliveTimeoutMs: 60_000, maxHeaderBytes: 65_536, maxConnections: 50_000 },
  ...{ maxRequestBodyBytes: 0, streamIdleMs: 0, totalMs: 0, tunnelIdleMs: 0, tunnelLifetimeMs: 0, readBuffers: 64 },
  ...{ responseStartMs: 60_000, proxyTimeoutMs: 900_000, maxIdleUpstream: 5_000 },
  ...{ unfinishedHeadBytesMax, waitingBytesMax },
};

const noDomains = { domain: "", clusterDomain: "cluster.local", serviceNames: [] };

class CountingBudget extends HeadBudget {
  readonly #counts: { begun: number };

  constructor(bytesMax: number, counts: { begun: number; shed: number }) {
    super(bytesMax, () => (counts.shed += 1));
    this.#counts = counts;
  }

  override keep(head: UnfinishedHead, keptBytes: number): void {
    this.#counts.begun += 1;
    super.keep(head, keptBytes);
  }
}

export type ProxyPathOptions = Partial<typeof defaults> &
  Pick<FrontOptions, "tls"> & {
    readonly clock?: Clock;
    /** Requests for `/held` wait for it before they are connected. */
    readonly released?: Promise<void>;
    readonly onOpen?: ProxyRequestOptions["onOpen"];
    /** Origins whose pages may send calls of gRPC-Web. */
    readonly webOrigins?: readonly string[];
    /** False: clients of HTTP/2 are refused. */
    readonly http2?: false;
    /** Whether streams of HTTP/2 may begin. */
    readonly hasRoom?: Http2FrontParts["hasRoom"];
    /** How long a request may wait for its connection, in milliseconds; absent: unlimited. */
    readonly holdMs?: number;
  };

export async function openProxyPath(backendPort: number, changed: ProxyPathOptions = {}): Promise<ProxyPath> {
  await using opened = new AsyncDisposableStack();
  const options: typeof defaults & Pick<FrontOptions, "host" | "port" | "tls"> = {
    ...{ ...defaults, ...changed },
    ...{ host: "127.0.0.1", port: 0 },
  };
  const { clock = systemClock } = changed;
  const sweep = opened.use(new Sweep(clock));
  const pool = opened.use(new Pool(idleLimits(options.maxIdleUpstream), clock));
  const loans = new BufferLoans(options.readBuffers);
  const unfinishedHeads = { begun: 0, shed: 0 };
  const heads = new CountingBudget(options.unfinishedHeadBytesMax, unfinishedHeads);
  const connector = new Connector(5_000, (to, head) => pool.take(to, head), clock);
  const target = { namespace: "default", podUid: "p1", ip: "127.0.0.1", port: backendPort, probes: [], young: false };
  const wires: Http1ProxyOptions = { ...options, pool, clock, sweep, loans, heads };
  const sessions = opened.use(new PodSessions(idleLimits(options.maxIdleUpstream), clock, sweep));
  const refusals: string[] = [];
  const limits = { bytesMax: options.waitingBytesMax, sparedMs: 0 };
  const waiting = new WaitingBudget({ stalledCut: () => void refusals.push("STALLED") }, sweep, limits);
  const withSessions = { ...wires, sessions, waiting };
  const proxies = { http1: createHttp1Proxy(wires), http2: createHttp2Proxy(withSessions) };
  const webProxy = createWebProxy(withSessions);
  const webCallOf = webCallReader({ ...noDomains, webOrigins: changed.webOrigins ?? [] });
  const callConnector = new CallConnector(connector, sessions);
  const ends: Ended[] = [];
  const offences: Offence[] = [];
  const connections = { opened: 0, open: 0, dropped: 0, cut: 0 };
  const count = (what: keyof typeof connections, by = 1) => {
    connections[what] += by;
  };
  const use = { dispatched: () => {} };
  const how = {
    subject: "nova",
    consumesAuthorization: false,
    trace: undefined,
    use,
    onFirstByte: () => {},
    ...(changed.onOpen && { onOpen: changed.onOpen }),
  };
  let begun = 0;
  let sockets: ProxyPath["sockets"];
  let upstreamSocket: ProxyPath["upstream"];
  const serve = async <I extends Exchange | StreamExchange>(exchange: I, proxy: ProxyRequest<I>) => {
    begun += 1;
    exchange.onEnded((ended) => ends.push(ended));
    try {
      if (exchange.head.method === "CONNECT") throw new ActivatorError("MethodNotAllowed");
      const gone = new AbortController();
      if (changed.holdMs) clock.after(changed.holdMs, () => gone.abort(new ActivatorError("WakeTimedOut")));
      const left = new Promise<never>((_, reject) => {
        exchange.onLeave(() => {
          gone.abort(new ClientGone("the client left"));
          reject(new ClientGone("the client left"));
        });
      });
      if (exchange.head.target.startsWith("/held")) await Promise.race([changed.released, left]);
      left.catch(() => {});
      const connecting = exchange.head.grpc ? callConnector : connector;
      const idle = connecting.idle(target, exchange.head);
      const upstream = idle ?? (await connecting.connect(target, exchange.head, { signal: gone.signal }));
      upstreamSocket = upstream.socket;
      const byHost = exchange.head.host !== "";
      if ("connection" in exchange) sockets = { client: exchange.connection.socket, sandbox: upstream.socket };
      await proxy(exchange, upstream, { ...how, byHost, responseStartMs: options.responseStartMs });
    } catch (error) {
      if (error instanceof ClientGone) return exchange.abort();
      const refusal = toActivatorError(error);
      refusals.push(refusal.code);
      if (exchange.answerable) exchange.answer(toResponse(refusal, exchange.head));
      else exchange.abort();
    }
  };
  const events = {
    connected() {
      count("opened");
      count("open");
    },
    disconnected: () => count("open", -1),
    dropped: () => count("dropped"),
    refused: (error: ActivatorError) => void refusals.push(error.code),
    handshakeFailed: () => {},
    overheadCut: () => count("cut"),
    streamRefused: () => void refusals.push("REFUSED_STREAM"),
    broke: (offence: Offence) => void offences.push(offence),
  };
  const http2 = new Http2Front(options, {
    ...{ clock, sweep, heads, waiting, events, hasRoom: changed.hasRoom, webCallOf },
    serve: (exchange) => serve(exchange, proxies.http2),
  });
  const serveHttp1 = (exchange: Exchange) => serve(exchange, exchange.head.grpc ? webProxy : proxies.http1);
  const callOf = callOfWire(webCallOf);
  const front = opened.use(
    await startHttp1Front(options, {
      ...{ clock, sweep, loans, heads, serve: serveHttp1, events, callOf },
      ...(changed.http2 ?? { http2 }),
    }),
  );
  opened.use(http2);
  const closing = opened.move();
  return {
    port: front.address.port,
    front,
    http2,
    pool,
    ends,
    refusals,
    offences,
    connections,
    unfinishedHeads,
    get unfinishedBytes() {
      return heads.bytes;
    },
    waiting,
    get lent() {
      return loans.lent;
    },
    get sockets() {
      return sockets;
    },
    get upstream() {
      return upstreamSocket;
    },
    get sessions() {
      return sessions.size;
    },
    podGone: () => sweep.podGone(target),
    empty: () =>
      eventually(() => {
        const isOver = front.active + http2.active === 0 && connections.open === 0 && ends.length === begun;
        return isOver && heads.bytes + waiting.bytes === 0 && sweep.size === sessions.size && loans.lent <= pool.size;
      }),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

export interface Backend extends AsyncDisposable {
  readonly port: number;
  /** The open connections. */
  readonly open: number;
}

/** A back-end that handles each connection with the given function. */
export async function openBackend(onConnection: (socket: Socket) => void): Promise<Backend> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.on("close", () => sockets.delete(socket));
    onConnection(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get open() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A back-end that parses requests strictly and answers each complete one. It reports what it read when a connection closes. */
export function openStrictBackend(answer: string, closed?: (requests: readonly Message[]) => void): Promise<Backend> {
  return openBackend((socket) => {
    const reader = new WireReader("request");
    let answered = 0;
    socket.on("data", (bytes: Buffer) => {
      reader.push(bytes);
      for (; answered < reader.messages.length; answered += 1) socket.write(answer, "latin1");
    });
    socket.on("end", () => socket.end());
    socket.on("close", () => closed?.(reader.messages));
  });
}

/** All received bytes, one character for each. Resolves when the other side has closed or reset the connection. */
export async function say(port: number, text: string, end: "end" | "stay" = "stay"): Promise<string> {
  const socket = await dialled(port);
  const bytes = Buffer.from(text, "latin1");
  if (end === "end") socket.end(bytes);
  else socket.write(bytes);
  return hear(socket);
}

export async function dialled(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true }).on("error", () => {});
  await new Promise<void>((resolve) => socket.once("connect", resolve).once("close", () => resolve()));
  return socket;
}

export function hear(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let heard = "";
    socket.on("data", (bytes: Buffer) => {
      heard += bytes.toString("latin1");
    });
    socket.once("end", () => socket.end()).once("close", () => resolve(heard));
  });
}
