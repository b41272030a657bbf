import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Registry } from "prom-client";
import { parseActivatorConfig } from "../activator/config/config.ts";
import { type Activator, type ActivatorParts, startActivator } from "../activator/start.ts";
import type { WakeTimeline } from "../api/between-programs/wake-timeline.ts";
import { loopbackClusterIps } from "../apiserver/kinds/builtin/cluster-ips.ts";
import { servedKinds } from "../apiserver/kinds/served-kinds.ts";
import { PodLogRefused, type PodLogRequest, type PodLogSource } from "../apiserver/pod-log-source.ts";
import { type MemoryApiServer, startMemoryApiServer } from "../apiserver/start-memory-api-server.ts";
import { parseControllerConfig } from "../controller/config/config.ts";
import { startController } from "../controller/start.ts";
import { KnownActivators } from "../controller/suspension/activators/activators.ts";
import { drainCalls } from "../controller/suspension/activators/drain-client.ts";
import { connectionFor } from "../kube/client/connection.ts";
import { createKubeClient } from "../kube/client/http-client.ts";
import { writeWhole } from "../lib/files/write-whole.ts";
import type { Logger } from "../lib/log/log.ts";
import { aborted, firstFailure } from "../lib/process/lifecycle.ts";
import type { Clock } from "../lib/time/clock.ts";
import { endAbandonedRuns } from "./abandoned-runs.ts";
import type { LocalConfig } from "./config.ts";
import { type Credentials, makeCredentials, makeKubeconfig } from "./credentials.ts";
import { openDataDirectory } from "./data-directory.ts";
import { demo } from "./demo.ts";
import { makeDrainCredentials, writeDrainFiles } from "./drain-credentials.ts";
import { startKubelet } from "./kubelet/start-kubelet.ts";
import { type LoopbackPlaces, loopbackPlaces, usableLoopback } from "./loopback-places.ts";
import { localMemory } from "./memory.ts";
import { type Addresses, describeAddresses, describeLateStart, describeStop } from "./messages.ts";
import { startServiceProxy } from "./proxy/start-service-proxy.ts";
import { namingThePort } from "./taken-port.ts";
import { untilSynced } from "./until-synced.ts";

export interface LocalDependencies {
  readonly clock: Clock;
  readonly log: Logger;
  /** For the metrics of all programs in this process. */
  readonly registry: Registry;
  /** Prints text for the user; the log goes elsewhere. */
  readonly say: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder that contains a folder for each example. */
  readonly examplesDirectory: string;
}

const host = "127.0.0.1";
const domain = "sandbox.localhost";

// No other controller competes, nothing scrapes the metrics, and the API server in memory converts by itself.
const controllerFlags = [
  "--extensions",
  "--leader-elect=false",
  "--enable-webhook=false",
  "--metrics-bind-address=0",
  "--health-probe-bind-address=0",
];

/**
 * Runs an API server, a kubelet of processes, the controller and the activator in this process until `stop` is aborted,
 * then stops them in the reverse order. Controller and activator are those of a cluster; only the API server and the
 * kubelet differ.
 *
 * @throws DataDirectoryRefused, TakenPort, DataDirInUse, or the error that ended one of the parts.
 */
export async function runLocal(config: LocalConfig, dependencies: LocalDependencies, stop: AbortSignal): Promise<void> {
  const { clock, log, registry, say } = dependencies;
  await using data = openDataDirectory(config.dataDir, log);
  const places = loopbackPlaces(data.path);
  // The activator's address for Services: it opens a port there for each port of a sandbox.
  const front = await usableLoopback(places.activator, log);
  const credentials = await makeCredentials();
  const drain = await makeDrainCredentials();

  const podLogs = new LateBoundPodLogs();
  await using api = await startApi(config, dependencies, { directory: data.path, places, credentials, podLogs });
  // One of a killed run would tell that this one is ready. Not earlier: now no other process uses the data directory.
  removeReadyFile(config);
  const kubeconfig = join(data.path, "kubeconfig");
  // Not later: a user may have to delete objects that keep the programs from starting.
  writeWhole(kubeconfig, makeKubeconfig(api.url, credentials), 0o600);
  await using _abandoned = await endAbandonedRuns({ clock, log });
  const connection = connectionFor({ server: api.url, token: credentials.token, ca: credentials.authority });
  await using client = createKubeClient(connection, { userAgent: "rouse-local", registry });
  await using kubelet = startKubelet({ client, clock, log, dataDir: data.path, environment: dependencies.environment });
  podLogs.bind(kubelet.podLogs);
  // The controller starts first, and calls no activator before the activator has started.
  const activators = new KnownActivators();
  await using controller = await startController(parseControllerConfig(controllerFlags), {
    client,
    clock,
    log,
    registry,
    identity: "local",
    servesV1alpha1: true,
    memory: localMemory,
    activators: { finder: activators, call: drainCalls(() => drain.controller, clock) },
  });
  let lastWake: WakeTimeline | undefined;
  const onWake = (wake: WakeTimeline) => {
    lastWake = wake;
  };
  // Not earlier: now this process is known to be the only one with this data directory.
  const ownFlags = frontFlags(front, writeDrainFiles(data.path, drain));
  await using activator = await startFrontDoor(config, ownFlags, { client, clock, log, registry, onWake });

  if (activator.drainPort !== undefined) activators.are([{ id: "local", host: front, port: activator.drainPort }]);

  await using proxy = startServiceProxy({ client, clock, log });
  using _ready = { [Symbol.dispose]: () => removeReadyFile(config) };
  const failed = firstFailure(api, kubelet, controller, activator, proxy);
  const addresses = addressesOf(api, activator, kubeconfig);
  const begin = async () => {
    const programs = { kubelet, controller, "service proxy": proxy };
    await untilSynced(programs, clock, (late) => say(describeLateStart(late, kubeconfig)));
    say(`\nRouse runs, and only programs of this machine can reach it:\n\n${describeAddresses(addresses)}`);
    const shown = { ...dependencies, client, addresses, activatorPort: activator.proxyPort, lastWake: () => lastWake };
    await demo(shown, config.examples, stop);
    if (config.readyFile) writeWhole(config.readyFile, `${JSON.stringify(addresses)}\n`, 0o600);
  };
  const stopped = aborted(stop);
  await Promise.race([begin().then(() => stopped), stopped, failed]);
  say(`\n${describeStop(config.dataDir)}\n`);
}

function addressesOf(api: MemoryApiServer, activator: Activator, kubeconfig: string): Addresses {
  return {
    api: api.url,
    kubeconfig,
    activator: activator.proxyUrl,
    metrics: `${activator.opsUrl}/metrics`,
    ...(activator.byNamePort !== undefined && { byName: `${host}:${activator.byNamePort}` }),
    domain,
  };
}

function removeReadyFile({ readyFile }: LocalConfig): void {
  if (readyFile) rmSync(readyFile, { force: true });
}

function startApi(
  config: LocalConfig,
  { clock, log }: LocalDependencies,
  parts: {
    readonly directory: string;
    readonly places: LoopbackPlaces;
    readonly credentials: Credentials;
    readonly podLogs: PodLogSource;
  },
): Promise<MemoryApiServer> {
  const { certificate, key } = parts.credentials.server;
  return namingThePort(config.apiPort, "API server", "--api-port", () =>
    startMemoryApiServer({
      clock,
      log,
      host,
      port: config.apiPort,
      tls: { cert: certificate, key },
      token: parts.credentials.token,
      kinds: servedKinds({ clusterIps: loopbackClusterIps(parts.places.firstService) }),
      podLogs: parts.podLogs,
      quotaBytes: config.quotaBytes,
      // A temporary data directory needs no journal.
      ...(config.dataDir !== undefined && { dataDir: join(parts.directory, "api") }),
    }),
  );
}

/** The drain listener, and the address of the ports for Services. */
const frontFlags = (front: string, drainFlags: readonly string[]) => [
  `--drain-bind-address=${front}:0`,
  ...drainFlags,
  `--tcp-front-bind-address=${front}`,
];

/** Starts the activator. `ownFlags`: those of this run. */
function startFrontDoor(config: LocalConfig, ownFlags: readonly string[], parts: ActivatorParts): Promise<Activator> {
  const start = () => startActivator(activatorConfig(config, ownFlags), parts);
  return namingThePort(config.port, "activator", "--port", () =>
    namingThePort(config.byNamePort ?? 0, "by-name listener", "--by-name-port", start),
  );
}

/** The activator's configuration for one machine: no token on loopback, and no autoscaler that could add a node. */
function activatorConfig(config: LocalConfig, ownFlags: readonly string[]) {
  const { port, allowedHosts, http2, webOrigins, pathRoutingPrefix, byNamePort } = config;
  const flags = [
    `--http-bind-address=${host}:${port}`,
    "--metrics-bind-address=",
    `--health-probe-bind-address=${host}:0`,
    `--domain=${domain}`,
    // A web page whose name resolves to this machine sends its own name as the host, and is rejected.
    `--header-hosts=localhost,${host},[::1],${allowedHosts}`,
    // A page of anybody must not use programs that run without isolation.
    "--refuse-foreign-pages",
    "--authz-mode=allow-all",
    `--http2=${http2}`,
    `--grpc-web-origins=${webOrigins}`,
    `--path-routing-prefix=${pathRoutingPrefix}`,
    "--allow-loopback-pod-ip=true",
    "--unschedulable-grace=2s",
    "--drain-settle=0s",
    "--shutdown-timeout=5s",
    ...ownFlags,
    ...(byNamePort === undefined ? [] : [`--by-name-bind-address=${host}:${byNamePort}`]),
  ];
  return parseActivatorConfig(flags, {});
}

/** The API server serves logs from its start, and their source starts later, because it needs the API. */
class LateBoundPodLogs implements PodLogSource {
  #source: PodLogSource | undefined;

  bind(source: PodLogSource): void {
    this.#source = source;
  }

  read(request: PodLogRequest, signal: AbortSignal): AsyncIterable<string | Uint8Array> {
    if (!this.#source) throw new PodLogRefused("the process runtime has not started yet");
    return this.#source.read(request, signal);
  }
}
