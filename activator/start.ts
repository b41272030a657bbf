import type { Registry } from "prom-client";
import type { WakeTimeline } from "../api/wake-timeline.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Clock } from "../lib/clock.ts";
import { firstFailure, type Running } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/log.ts";
import { startPageServer, urlOf } from "../lib/page-server.ts";
import { noTracer, type Tracer } from "../lib/tracing/tracer.ts";
import packageJson from "../package.json" with { type: "json" };
import type { Authorizer } from "./authorize/authorizer.ts";
import { createAuthorizer } from "./authorize/create-authorizer.ts";
import { Pool } from "./carry/pool.ts";
import type { ActivatorConfig } from "./config.ts";
import { Books } from "./drain/books.ts";
import { createHttp1Carrier } from "./http1/carrier/carrier.ts";
import type { Exchange } from "./http1/front/exchange.ts";
import type { Front } from "./http1/front/front.ts";
import { AccessLog } from "./observe/access-log.ts";
import { createConnectionMetrics } from "./observe/connection-metrics.ts";
import { Observer } from "./observe/observer.ts";
import { createRequestMetrics, type RequestMetrics } from "./observe/request-metrics.ts";
import { createWakeMetrics, type WakeMetrics } from "./observe/wake-metrics.ts";
import { opsPages } from "./ops-pages.ts";
import { Connector } from "./reach/connector.ts";
import { Holds } from "./reach/holds.ts";
import { Newcomers } from "./reach/newcomers.ts";
import { Prober } from "./reach/prober.ts";
import { Waits } from "./reach/waits.ts";
import { type Claims, startClaims } from "./sandbox/claims.ts";
import { type Cluster, startCluster } from "./sandbox/cluster.ts";
import { serve, type World } from "./serve.ts";
import { Slots } from "./slots.ts";
import { socketsMax } from "./socket/descriptors.ts";
import { BufferLoans } from "./socket/read-place.ts";
import { openSockets } from "./socket/wire-socket.ts";
import { startFronts } from "./start-fronts.ts";
import { Sweep } from "./sweep.ts";
import { openTcpFront } from "./tcp-front/open-tcp-front.ts";
import type { TcpFront } from "./tcp-front/tcp-front.ts";
import { Stirring } from "./wake/stirring.ts";
import { Waker } from "./wake/waker.ts";

export const version: string = packageJson.version;

/** What the activator needs and does not make itself. */
export interface ActivatorParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
  /** Told of each wake when the first byte of its response has come. */
  readonly onWake?: (timeline: WakeTimeline) => void;
}

export interface Activator extends Running {
  /** Where sandboxes are reached. */
  readonly proxyUrl: string;
  readonly proxyPort: number;
  /** Where they are reached over TLS; undefined: nowhere. */
  readonly tlsPort: number | undefined;
  /** Where `/healthz`, `/readyz` and `/metrics` are. */
  readonly opsUrl: string;
  /** Where the controller asks; undefined: nowhere. */
  readonly drainPort: number | undefined;
  /**
   * Leaves without breaking a promise: no longer ready, still accepting while that gets about, then finishing what is
   * under way, and only then refusing what is still held. Disposing afterwards cuts what is left.
   */
  drain(): Promise<void>;
}

/** So many connections at once may have a read buffer of 128 KiB of their own; those beyond copy what they read. */
const ownBuffersMax = 512;

/** What is left of a drain once held requests were refused: time to write the answers. */
const lastAnswersMs = 1_000;

/**
 * Starts to serve. It listens at once and holds requests until the cluster is known; `/readyz` says when that is.
 *
 * @throws Error when a port or a certificate cannot be had; ConfigError when the key of scoped tokens cannot be used.
 */
export async function startActivator(config: ActivatorConfig, parts: ActivatorParts): Promise<Activator> {
  await using started = new AsyncDisposableStack();
  const authorizer = await createAuthorizer(config.authorization, parts);
  const books = new Books(parts);
  // Open before the first list, and longer than all else: whoever finds it closed may take it that nothing is carried.
  const drainServer = config.drain && started.use(await books.listen(config.drain));
  const cluster = started.use(startCluster(parts));
  books.keepFrom(cluster);
  const claims = started.use(startClaims(parts, cluster));
  const { clock, registry } = parts;
  const wires = {
    pool: started.use(new Pool(config.maxIdleUpstream, clock)),
    sweep: started.use(new Sweep(clock)),
    loans: new BufferLoans(ownBuffersMax),
  };
  const requests = createRequestMetrics(registry, version);
  const accessLog = config.accessLog && parts.log.isLevelEnabled("info") ? accessLogOf(parts) : undefined;
  if (accessLog) started.use(accessLog);
  const waker = new Waker(parts.client, config.wakes, clock);
  const wakes = createWakeMetrics(registry, config.slots.total);
  const onWoken: Books["woken"] = (...wake) => {
    wakes.stirred();
    books.woken(...wake);
  };
  const stirring = started.use(new Stirring({ ...parts, cluster, bonds: books.bonds, waker, onWoken }));
  const middle = { cluster, claims, authorizer, requests, wakes, accessLog, books, waker, stirring };
  const world = buildWorld(config, { ...parts, ...wires, ...middle });
  const state = { draining: false };
  const isReady = () => cluster.synced && claims.settled && !state.draining;
  const pages = { pages: opsPages(registry, isReady), log: parts.log };
  const ops = started.use(await startPageServer({ name: "health", address: config.ops, ...pages }));
  if (config.metrics) started.use(await startPageServer({ name: "metrics", address: config.metrics, ...pages }));
  const events = createConnectionMetrics(registry, requests);
  const hasRoom = roomForSockets();
  const tcpFront =
    config.tcpFront &&
    started.use(openTcpFront(config.tcpFront, config, world, { ...parts, ...wires, wakes, accessLog, hasRoom }));
  if (tcpFront) books.confirmBy((request) => tcpFront.confirm(request));
  const front = started.use(
    await startFronts(config, {
      ...{ ...parts, ...wires, events, hasRoom: () => hasRoom(tcpFront?.listening ?? 0) },
      serve: (exchange) => serve(exchange, world),
    }),
  );
  const running = started.move();
  const failed = firstFailure(cluster, claims, tcpFront, front, drainServer);
  return {
    proxyUrl: urlOf(front.address, config.http ? "http" : "https"),
    proxyPort: front.address.port,
    tlsPort: front.tlsPort,
    opsUrl: ops.url,
    drainPort: drainServer?.port,
    failed,
    async drain() {
      state.draining = true;
      await drain({ front, tcpFront, holds: world.holds }, config, clock);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Whether there may be another socket besides so many that listen. */
function roomForSockets(): (besides: number) => boolean {
  const max = socketsMax() ?? Number.POSITIVE_INFINITY;
  return (besides) => openSockets() + besides < max;
}

interface Leaving {
  readonly front: Front;
  readonly tcpFront: TcpFront | undefined;
  readonly holds: Holds;
}

async function drain({ front, tcpFront, holds }: Leaving, config: ActivatorConfig, clock: Clock): Promise<void> {
  const { drainSettleMs, shutdownTimeoutMs } = config;
  front.beginDrain();
  const over = new AbortController();
  const unlisted = tcpFront?.unlisted(over.signal).then(() => clock.sleep(drainSettleMs));
  await clock.sleep(drainSettleMs);
  front.stopAccepting();
  const closed = unlisted?.then(() => tcpFront?.stopAccepting());
  const idle = () => Promise.all([front.idle(), closed?.then(() => tcpFront?.idle())]);
  await Promise.race([idle(), clock.sleep(shutdownTimeoutMs)]);
  over.abort(new Error("the time to leave is over"));
  tcpFront?.stopAccepting();
  holds.endAll();
  await Promise.race([Promise.all([front.idle(), tcpFront?.idle()]), clock.sleep(lastAnswersMs)]);
}

/** What the middle of the activator shares with its ends. */
interface WorldParts extends ActivatorParts {
  readonly pool: Pool;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  readonly cluster: Cluster;
  readonly claims: Claims;
  readonly authorizer: Authorizer;
  readonly requests: RequestMetrics;
  readonly wakes: WakeMetrics;
  readonly accessLog: AccessLog | undefined;
  readonly books: Books;
  readonly waker: Waker;
  readonly stirring: Stirring;
}

const accessLogOf = ({ log, clock }: ActivatorParts) =>
  new AccessLog(log.child({ logger: "sandbox-router.access" }), clock);

function buildWorld(config: ActivatorConfig, parts: WorldParts): World<Exchange> {
  const { clock, log, books, onWake, pool, sweep, loans, cluster, claims, authorizer } = parts;
  const prober = new Prober(clock);
  cluster.onPodGone((podUid) => {
    pool.forgetPod(podUid);
    prober.forgetPod(podUid);
  });
  const observer = new Observer({
    clock,
    log,
    tracer: parts.tracer ?? noTracer,
    requests: parts.requests,
    wakes: parts.wakes,
    accessLog: parts.accessLog,
    podSeenMs: (podUid) => cluster.podSeenMs(podUid),
    acceptedMs: (target) => prober.acceptedMs(target),
    knowsSandbox: (namespace, name) => cluster.sandbox(namespace, name) !== undefined,
    onWake,
  });
  return {
    options: config,
    maxRequestBodyBytes: config.maxRequestBodyBytes,
    responseHeaderTimeoutMs: config.responseHeaderTimeoutMs,
    find: config,
    lookup: {
      sandbox: (namespace, name) => cluster.sandbox(namespace, name),
      claimed: (namespace, name) => claims.sandboxOf(namespace, name),
    },
    newcomers: new Newcomers({ cluster, clock }),
    clock,
    cluster,
    prober,
    observer,
    authorizer,
    waker: parts.waker,
    activity: books.activity,
    bonds: books.bonds,
    openConnections: books.openConnections,
    onWoken: (sandbox, port) => books.woken(sandbox, port),
    onMoved: (stirred) => parts.stirring.moved(stirred),
    connector: new Connector(config.connectTimeoutMs, (target, head) => pool.take(target, head), clock),
    slots: new Slots(config.slots),
    holds: new Holds(clock),
    waits: new Waits(),
    carry: createHttp1Carrier({ ...config, pool, clock, sweep, loans }),
  };
}
