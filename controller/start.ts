import type { Registry } from "prom-client";
import { CallLanes } from "../kube/client/call-lanes.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { createEventRecorder } from "../kube/events/event-recorder.ts";
import type { Logger } from "../lib/log/log.ts";
import { type Page, startPageServer } from "../lib/net/page-server.ts";
import { aborted, firstFailure, type Running, startTask } from "../lib/process/lifecycle.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Turns } from "../lib/time/turns.ts";
import { noTracer, type Tracer } from "../lib/tracing/tracer.ts";
import { labelDomainsFile, readLabelDomains } from "./claim/create/allowed-label-domains.ts";
import { ClaimMetrics } from "./claim/status/claim-metrics.ts";
import type { ControllerConfig } from "./config/config.ts";
import { registerBuildInfo } from "./metrics/build-info.ts";
import { registerCertificateEnds } from "./metrics/certificate-ends.ts";
import { countDroppedEvents } from "./metrics/dropped-events.ts";
import { createRuntimeMetrics } from "./metrics/runtime-metrics.ts";
import { serveMetrics } from "./metrics/serve-metrics.ts";
import { LifecycleMetrics } from "./sandbox/metrics/lifecycle-metrics.ts";
import { registerSandboxGauge } from "./sandbox/metrics/sandbox-gauge.ts";
import { startSandboxController } from "./sandbox/start-sandbox-controller.ts";
import { type ExtensionInformers, startExtensionControllers, startExtensionInformers } from "./start-extensions.ts";
import { type Informers, startInformers } from "./start-informers.ts";
import { type Leadership, standForElection } from "./stores/stand-for-election.ts";
import { registerStoreAges } from "./stores/store-ages.ts";
import { StoreHealth } from "./stores/store-health.ts";
import { reachActivators } from "./suspension/activators/reach-activators.ts";
import { type MemoryProvider, noProvider } from "./suspension/hibernation/memory-provider.ts";
import { Signing } from "./suspension/hibernation/signing.ts";
import type { Activators } from "./suspension/start-suspending.ts";
import { SuspensionMetrics } from "./suspension/suspension-metrics.ts";
import { PortShortages } from "./tcp-front/port-shortages.ts";
import { startFrontRemoval } from "./tcp-front/remove-fronts.ts";
import { startTcpFrontController } from "./tcp-front/start-tcp-front-controller.ts";
import { TcpFrontMetrics } from "./tcp-front/tcp-front-metrics.ts";
import { PolicyGate } from "./template/policy-gate.ts";
import { Traces } from "./traces.ts";
import { registerPoolSizes } from "./warm-pool/status/pool-sizes.ts";
import { PeerShares } from "./webhook/peer-shares.ts";
import { startWebhook } from "./webhook/start-webhook.ts";

export interface ControllerParts {
  readonly client: KubeClient;
  /** The same client, with a check each time that a call is sent; absent: calls are checked before they wait. */
  readonly checking?: (mayCall: () => void) => KubeClient;
  /** For the lease alone: its renewal does not wait behind the calls of a busy controller, nor for their rate; absent: the same. */
  readonly leaseClient?: KubeClient;
  readonly clock: Clock;
  /** Shared with `client`; absent: passes follow each other without pauses. */
  readonly turns?: Turns;
  readonly log: Logger;
  readonly registry: Registry;
  /** Unique among all replicas, also over restarts. */
  readonly identity: string;
  /** Which domains a claim's labels may be in; absent: where a ConfigMap is mounted. */
  readonly labelDomainsFile?: string;
  /** Whether the API server serves `v1alpha1` of our kinds too; absent: if our webhook converts them. */
  readonly servesV1alpha1?: boolean;
  /** The activators, if they are known in advance; absent: the configuration names them. */
  readonly activators?: Activators;
  /** Keeps the memory of Pods; absent: nothing does. */
  readonly memory?: MemoryProvider;
  /** Absent: no traces. */
  readonly tracer?: Tracer;
  /** Ends the start while the API server is away; absent: it ends by its limit. */
  readonly stop?: AbortSignal;
}

export interface RunningController extends Running {
  /** Resolves once every store has been filled. */
  readonly synced: Promise<void>;
  /** Undefined where it is not served. */
  readonly webhookPort: number | undefined;
  readonly metricsUrl: string | undefined;
  readonly healthUrl: string | undefined;
}

/**
 * Starts the controller: its webhook, pages and stores at once, its work as soon as it leads. It stands for election once
 * its stores are filled; the kinds of the extensions start when theirs are. While the API server is away at the start, it is alive and
 * not ready, and waits.
 * Disposal finishes the reconciles in progress, then releases the lease.
 *
 * @throws Error if an address cannot be used, ConfigError if the lease has no namespace, or the errors of the certificates.
 */
export async function startController(config: ControllerConfig, parts: ControllerParts): Promise<RunningController> {
  const { client, clock, log, registry } = parts;
  await using stack = new AsyncDisposableStack();
  registerBuildInfo(registry);
  let stores: StoreHealth | undefined;
  const pages = { "/healthz": ok, "/readyz": () => stores?.readyPage() ?? notStarted() };
  const health =
    config.healthAddress &&
    stack.use(await startPageServer({ name: "health", address: config.healthAddress, pages, log }));
  // First of all: without it neither the API server nor our informers can read objects that are stored in the older version.
  const shares = new PeerShares();
  const webhookParts = { ...parts, shares, clusterDomain: config.clusterDomain };
  const webhook = config.webhook && stack.use(await startWebhook(config.webhook, webhookParts));
  const tcpFronts = (parts.activators ?? config.activators) !== undefined;
  const informers = stack.use(
    startInformers({
      ...{ client, clock, log, tcpFronts },
      ...{
        trackedOnly: config.cachesTrackedOnly,
        agentNamespace: config.hibernation ? config.hibernationNamespace : undefined,
      },
    }),
  );
  shares.follow(informers.pods.store);
  const extensions = config.extensions && stack.use(startExtensionInformers({ client, clock, log }));
  registerSandboxGauge(registry, () => informers.sandboxes.store.list());
  if (extensions) registerPoolSizes(registry, () => informers.sandboxes.store.list());
  const activators = await reachActivators(stack, config.activators, parts);
  registerCertificateEnds(registry, { webhook: webhook?.certificate, drain: activators?.certificate });
  registerStoreAges(registry, [...informers.stores, ...(extensions?.stores ?? [])]);
  const metrics = config.metrics && stack.use(await serveMetrics(config.metrics, { registry, clock, log }));
  const seen = new StoreHealth({
    clock,
    log,
    core: informers.stores,
    coreSynced: activators?.synced,
    extensions: extensions?.stores ?? [],
    elects: config.leaderElection !== undefined,
    converts: webhook !== undefined,
  });
  stores = seen;
  const leadership = standForElection(stack, config, parts, seen);
  const synced = Promise.all([informers.synced, extensions?.synced, activators?.synced]).then(() => {});
  const labelDomains = config.extensions ? await readLabelDomains(parts.labelDomainsFile ?? labelDomainsFile) : [];
  const servesV1alpha1 = parts.servesV1alpha1 ?? webhook !== undefined;
  const world = { informers, extensions, activators, labelDomains, servesV1alpha1, stores: seen };
  const work = stack.use(startWork(config, parts, world, leadership));

  const started = stack.move();
  const failed = firstFailure(informers, { failed: leadership.lost }, work, extensions, webhook, metrics, activators);
  return {
    failed,
    synced,
    webhookPort: webhook?.port,
    metricsUrl: metrics?.url,
    healthUrl: health?.url,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** What the work is done on. */
interface World {
  readonly informers: Informers;
  readonly extensions: ExtensionInformers | undefined;
  readonly activators: Activators | undefined;
  readonly labelDomains: readonly string[];
  readonly servesV1alpha1: boolean;
  readonly stores: StoreHealth;
}

/** Everything that only a leader does, once it may begin. */
function startWork(config: ControllerConfig, parts: ControllerParts, world: World, leadership: Leadership): Running {
  const tools = makeTools(config, parts, leadership);
  return startTask("the controllers", async (signal) => {
    const stopped = aborted(signal);
    await Promise.race([stopped, config.leaderElection ? leadership.elected : world.stores.untilFit(signal)]);
    if (signal.aborted) return;
    world.stores.useCore();
    tools.log.info("the stores that Sandboxes need are filled; starting workers");
    await using reading = tools.signer?.start();
    await tools.signer?.untilBegun(signal);
    if (signal.aborted) return;
    await using kinds = startKinds(config, tools, world);
    await Promise.race([stopped, firstFailure(kinds, reading)]);
  });
}

type Tools = ReturnType<typeof makeTools>;

/** The parts that the controllers of all kinds share. Its metrics exist before the work begins. */
function makeTools(config: ControllerConfig, parts: ControllerParts, { confirm }: Leadership) {
  const { clock, turns, log, registry, identity, tracer = noTracer, memory = noProvider } = parts;
  const client = (confirm && parts.checking?.(confirm)) ?? parts.client;
  const lanes = new CallLanes({ clock, mayCall: confirm });
  return {
    client: lanes.atOnce(client),
    slowClient: lanes.slowly(client),
    clock,
    turns,
    log,
    registry,
    memory,
    signer: config.hibernation
      ? new Signing({ client, clock, log, registry, namespace: config.hibernationNamespace })
      : undefined,
    lifecycleMetrics: new LifecycleMetrics(registry, clock),
    runtimeMetrics: createRuntimeMetrics(registry, clock),
    suspensionMetrics: new SuspensionMetrics(registry),
    traces: new Traces(tracer, log, clock),
    tcpFrontMetrics: new TcpFrontMetrics(registry),
    portShortages: new PortShortages(),
    onEventDropped: countDroppedEvents(registry),
    reportingInstance: identity.slice(0, 128),
  };
}

/** Starts the controllers of all kinds. The stores of Sandboxes must be filled; the other kinds wait for theirs. */
function startKinds(config: ControllerConfig, tools: Tools, world: World): Running {
  const { informers, extensions, activators } = world;
  const stack = new AsyncDisposableStack();
  const recorder = {
    ...tools,
    client: tools.slowClient,
    reportingController: "sandbox-controller",
    onDropped: tools.onEventDropped,
  };
  const events = config.sandboxEvents ? stack.use(createEventRecorder(recorder)) : undefined;
  const extended = extensions && { ...extensions, sandboxes: informers.sandboxes, pods: informers.pods };
  const policyGate = extended && new PolicyGate(extended);
  if (world.stores.seesExtensions()) policyGate?.open();
  const sandboxes = stack.use(
    startSandboxController({
      ...tools,
      informers,
      events,
      workers: config.sandboxWorkers,
      clusterDomain: config.clusterDomain,
      writeBehindWindowMs: config.sandboxWriteBehindMs,
      activators,
      policyGate,
    }),
  );
  const extensionKinds =
    config.extensions &&
    extended &&
    policyGate &&
    stack.use(startExtensionKinds(config.extensions, tools, world, { extended, policyGate }));
  const settings = config.tcpFronts;
  const fronts = stack.use(
    activators && informers.slices
      ? startTcpFrontController({
          ...tools,
          informers: { ...informers, slices: informers.slices },
          activators,
          settings,
          events,
          metrics: tools.tcpFrontMetrics,
          shortages: tools.portShortages,
        })
      : startFrontRemoval({ ...tools, client: tools.slowClient, settings }),
  );
  return {
    failed: firstFailure(sandboxes, extensionKinds, fronts),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type ExtensionControllers = Parameters<typeof startExtensionControllers>[0];

interface ExtensionParts {
  readonly extended: ExtensionControllers["informers"];
  readonly policyGate: PolicyGate;
}

/** Starts the kinds of the extensions once their stores are usable. */
function startExtensionKinds(
  config: ExtensionControllers["config"],
  tools: ReturnType<typeof makeTools>,
  { stores, labelDomains, servesV1alpha1 }: World,
  { extended, policyGate }: ExtensionParts,
): Running {
  const claimMetrics = new ClaimMetrics(tools.registry, tools.lifecycleMetrics, tools.clock);
  return startTask("the controllers of the extensions", async (signal) => {
    if (!stores.seesExtensions()) await stores.untilExtensions(signal);
    if (signal.aborted) return;
    stores.useExtensions();
    policyGate.open();
    await using kinds = startExtensionControllers({
      ...tools,
      config,
      informers: extended,
      claimMetrics,
      labelDomains,
      servesV1alpha1,
    });
    await Promise.race([aborted(signal), kinds.failed]);
  });
}

const ok = (): Page => ({ contentType: "text/plain", body: "ok" });
const notStarted = (): Page => ({ status: 503, contentType: "text/plain", body: "waits for its certificates" });
