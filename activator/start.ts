import type { Registry } from "prom-client";
import type { WakeTimeline } from "../api/between-programs/wake-timeline.ts";
import type { Stored } from "../api/kinds/meta.ts";
import { defaultPort } from "../api/rules/declared-ports.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Logger } from "../lib/log/log.ts";
import { startPageServer, urlOf } from "../lib/net/page-server.ts";
import { firstFailure, type Running } from "../lib/process/lifecycle.ts";
import type { Clock } from "../lib/time/clock.ts";
import { OncePerMinute } from "../lib/time/once-per-minute.ts";
import { noTracer, type Tracer } from "../lib/tracing/tracer.ts";
import packageJson from "../package.json" with { type: "json" };
import type { Authorizer } from "./authorize/authorizer.ts";
import { createAuthorizer } from "./authorize/create-authorizer.ts";
import type { ActivatorConfig } from "./config/config.ts";
import { Connector } from "./connect/connector.ts";
import { ReplicaState } from "./drain/replica-state.ts";
import { NewSandboxes } from "./find/await-new-sandbox.ts";
import { lookupIn } from "./find/sandbox-of.ts";
import { FirstView } from "./hold/await-first-view.ts";
import { HoldDeadlines } from "./hold/hold-deadlines.ts";
import { HoldLimits, outsiderNumbers } from "./hold/hold-limits.ts";
import { HoldRegistry } from "./hold/hold-registry.ts";
import type { Exchange } from "./http1/front/exchange.ts";
import { HeadBudget, unfinishedHeadBytesMax } from "./http1/front/head-budget.ts";
import { createHttp1Proxy } from "./http1/proxy/create-http1-proxy.ts";
import { AccessLog } from "./observe/access-log.ts";
import { createHeadMetrics } from "./observe/head-metrics.ts";
import { NamespaceLabels } from "./observe/namespace-labels.ts";
import { Observer } from "./observe/observer.ts";
import { opsPages } from "./observe/ops-pages.ts";
import { RequestMetrics } from "./observe/request-metrics.ts";
import { createSlotMetrics } from "./observe/slot-metrics.ts";
import { createUpstreamMetrics } from "./observe/upstream-metrics.ts";
import { createWakeMetrics, type WakeMetrics } from "./observe/wake-metrics.ts";
import { idleLimits } from "./pod-connections/idle-limits.ts";
import { Pool } from "./pod-connections/pool.ts";
import { ProbeBudget } from "./readiness/probe-budget.ts";
import { Prober } from "./readiness/prober.ts";
import { type Claims, startClaims } from "./sandbox/claims.ts";
import { type Cluster, startCluster } from "./sandbox/cluster.ts";
import type { SlimSandbox } from "./sandbox/slim-sandbox.ts";
import type { ServeDeps } from "./serve.ts";
import { drain } from "./shutdown.ts";
import { socketsMax } from "./socket/descriptors.ts";
import { BufferLoans } from "./socket/read-place.ts";
import { startFronts } from "./start-fronts.ts";
import { Sweep } from "./sweep.ts";
import { WakeOnActivity } from "./wake/wake-on-activity.ts";
import { Waker } from "./wake/waker.ts";

export const version: string = packageJson.version;

/** The dependencies of the activator. */
export interface ActivatorParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
  /** Called for each wake when the first byte of its response has arrived. */
  readonly onWake?: (timeline: WakeTimeline) => void;
}

export interface Activator extends Running {
  /** The address of the HTTP listener. */
  readonly proxyUrl: string;
  readonly proxyPort: number;
  /** The address of the HTTPS listener; undefined: disabled. */
  readonly tlsPort: number | undefined;
  /** The port of the by-name listener; undefined: disabled. */
  readonly byNamePort: number | undefined;
  /** The address of `/healthz`, `/readyz` and `/metrics`. */
  readonly opsUrl: string;
  /** The address of the drain listener; undefined: disabled. */
  readonly drainPort: number | undefined;
  /**
   * Exits without breaking a promise: not ready at first, but still accepting; then it finishes requests in progress; then it
   * rejects held requests. Dispose afterwards to cut the rest.
   */
  drain(): Promise<void>;
}

/** The maximum number of connections with a read buffer of 128 KiB of their own; the others copy what they read. */
const ownBuffersMax = 512;

/**
 * Starts to serve. It listens at once and holds requests until the cluster is synced; `/readyz` reports that.
 *
 * @throws Error if it cannot listen on a port or read a certificate; ConfigError for an unusable key of scoped tokens.
 */
export async function startActivator(config: ActivatorConfig, parts: ActivatorParts): Promise<Activator> {
  await using started = new AsyncDisposableStack();
  const authorizer = await createAuthorizer(config.authorization, parts);
  const replicaState = new ReplicaState({ ...parts, allowLoopbackPodIp: config.allowLoopbackPodIp });
  // Opened before the first list and closed last: a caller that finds it closed may assume that nothing is proxied.
  const drainServer = config.drain && started.use(await replicaState.listen(config.drain));
  const cluster = started.use(startCluster(parts));
  replicaState.keepFrom(cluster);
  const claims = started.use(startClaims(parts, cluster));
  const { clock, registry } = parts;
  const wires = {
    pool: started.use(new Pool(idleLimits(config.maxIdleUpstream, socketsMax()), clock)),
    sweep: started.use(new Sweep(clock, (address) => cluster.hasAddress(address))),
    loans: new BufferLoans(ownBuffersMax),
    heads: new HeadBudget(unfinishedHeadBytesMax, createHeadMetrics(registry)),
  };
  const labels = new NamespaceLabels({ clock, hasSandboxes: (namespace) => cluster.hasSandboxes(namespace) });
  const requests = new RequestMetrics(registry, version, labels);
  const accessLog = started.use(config.accessLog ? openAccessLog(parts) : undefined);
  const wakes = createWakeMetrics(registry);
  const waker = started.use(createWaker(config, parts, { wakes, replicaState }));
  cluster.onSandboxChange((change) => waker.sandboxChanged(change));
  const onWoken: ReplicaState["woken"] = (...wake) => {
    wakes.connection();
    replicaState.woken(...wake);
  };
  const wakeOnActivity = started.use(
    new WakeOnActivity({ ...parts, cluster, fences: replicaState.fences, waker, onWoken }),
  );
  const middle = { cluster, claims, authorizer, requests, wakes, accessLog, replicaState, waker, wakeOnActivity };
  const deps = buildDeps(config, { ...parts, ...wires, ...middle });
  const state = { draining: false };
  const isReady = () => cluster.synced && !claims.isAwaited && !state.draining;
  const opsUrl = await startOpsPages(started, config, { pages: opsPages(registry, isReady), log: parts.log });
  const fronts = started.use(await startFronts(config, deps, { ...parts, ...wires, ...middle }));
  const running = started.move();
  const failed = firstFailure(cluster, claims, fronts.tcp, fronts.http, drainServer);
  return {
    proxyUrl: urlOf(fronts.http.address, config.http ? "http" : "https"),
    proxyPort: fronts.http.address.port,
    tlsPort: fronts.http.tlsPort,
    byNamePort: fronts.byName?.address.port,
    opsUrl,
    drainPort: drainServer?.port,
    failed,
    async drain() {
      state.draining = true;
      await drain(fronts, deps.holdDeadlines, config, clock);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** A wake without a waiting request is counted and recorded as well. */
function createWaker(
  config: ActivatorConfig,
  { client, clock }: ActivatorParts,
  { wakes, replicaState }: { readonly wakes: WakeMetrics; readonly replicaState: ReplicaState },
): Waker {
  const onUnheard = (sandbox: Stored<SlimSandbox>) => {
    wakes.wakeEnded("request", "clientLeft", 0);
    replicaState.woken(sandbox, defaultPort(sandbox.spec.podTemplate.spec));
  };
  return new Waker(client, { rate: config.wakes, clock, onUnheard });
}

/** Returns the address of the health pages; metrics may have another port besides. */
async function startOpsPages(
  started: AsyncDisposableStack,
  { ops, metrics, refusesForeignPages, headerHosts = [] }: ActivatorConfig,
  parts: Pick<Parameters<typeof startPageServer>[0], "pages" | "log">,
): Promise<string> {
  const pages = { ...parts, hosts: refusesForeignPages ? headerHosts : undefined };
  const { url } = started.use(await startPageServer({ name: "health", address: ops, ...pages }));
  if (metrics) started.use(await startPageServer({ name: "metrics", address: metrics, ...pages }));
  return url;
}

/** The shared parts of the fronts. */
interface DepsParts extends ActivatorParts {
  readonly pool: Pool;
  readonly sweep: Sweep;
  readonly loans: BufferLoans;
  readonly heads: HeadBudget;
  readonly cluster: Cluster;
  readonly claims: Claims;
  readonly authorizer: Authorizer;
  readonly requests: RequestMetrics;
  readonly wakes: WakeMetrics;
  readonly accessLog: AccessLog | undefined;
  readonly replicaState: ReplicaState;
  readonly waker: Waker;
  readonly wakeOnActivity: WakeOnActivity;
}

const openAccessLog = ({ log, clock }: ActivatorParts) =>
  log.isLevelEnabled("info") ? new AccessLog(log.child({ logger: "sandbox-router.access" }), clock) : undefined;

function buildDeps(config: ActivatorConfig, parts: DepsParts): ServeDeps<Exchange> {
  const { clock, log, replicaState, onWake, pool, sweep, loans, heads, cluster, claims, authorizer } = parts;
  const budget = new ProbeBudget(clock);
  const prober = new Prober(clock, budget, (address) => cluster.hasAddress(address));
  createUpstreamMetrics(parts.registry, { budget, pool });
  const connector = new Connector(config.connectTimeoutMs, (target, head) => pool.take(target, head), clock);
  cluster.onAddressLost((address) => {
    pool.forgetAddress(address);
    prober.forgetAddress(address);
    sweep.podGone(address);
    connector.addressLost(address);
  });
  const observer = new Observer({
    clock,
    log,
    tracer: parts.tracer ?? noTracer,
    requests: parts.requests,
    wakes: parts.wakes,
    accessLog: parts.accessLog,
    mayLog: new OncePerMinute(clock),
    podSeenMs: (podUid) => cluster.podSeenMs(podUid),
    acceptedMs: (target) => prober.acceptedMs(target),
    knowsSandbox: (namespace, name) => cluster.sandbox(namespace, name) !== undefined,
    onWake,
  });
  const holdLimits = new HoldLimits(config.slots);
  const outsiderLimits = new HoldLimits(outsiderNumbers(config.slots));
  createSlotMetrics(parts.registry, { others: holdLimits, outsiders: outsiderLimits });
  const holdDeadlines = new HoldDeadlines(clock);
  return {
    options: config,
    maxRequestBodyBytes: config.maxRequestBodyBytes,
    responseHeaderTimeoutMs: config.responseHeaderTimeoutMs,
    find: config,
    lookup: lookupIn(cluster, claims),
    firstView: new FirstView({
      ...{ clock, cluster, claims, holdLimits, holdDeadlines },
      ...{ domains: config, proxyTimeoutMs: config.proxyTimeoutMs },
    }),
    newSandboxes: new NewSandboxes({ cluster, clock }),
    clock,
    cluster,
    prober,
    observer,
    authorizer,
    waker: parts.waker,
    activity: replicaState.activity,
    fences: replicaState.fences,
    openConnections: replicaState.openConnections,
    onWoken: (sandbox, port) => replicaState.woken(sandbox, port),
    onMoved: (connection) => parts.wakeOnActivity.moved(connection),
    connector,
    holdLimits,
    outsiderLimits,
    holdDeadlines,
    holds: new HoldRegistry(),
    proxy: createHttp1Proxy({ ...config, pool, clock, sweep, loans, heads }),
  };
}
