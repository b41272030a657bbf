import { join } from "node:path";
import { collectDefaultMetrics, Registry } from "prom-client";
import { parseActivatorConfig } from "../activator/config.ts";
import { startActivator } from "../activator/start.ts";
import type { WakeTimeline } from "../api/wake-timeline.ts";
import { parseControllerConfig } from "../controller/config.ts";
import { startController } from "../controller/start.ts";
import { KnownActivators } from "../controller/suspension/activators.ts";
import { drainCalls } from "../controller/suspension/drain-client.ts";
import { connectionFor } from "../kube/connection.ts";
import { createKubeClient } from "../kube/http-client.ts";
import { loopbackClusterIps } from "../kube/memory/kinds/builtin/cluster-ips.ts";
import { servedKinds } from "../kube/memory/kinds/served-kinds.ts";
import { PodLogRefused, type PodLogRequest, type PodLogSource } from "../kube/memory/pod-log-source.ts";
import { type MemoryApiServer, startMemoryApiServer } from "../kube/memory/start-memory-api-server.ts";
import type { Clock } from "../lib/clock.ts";
import { firstFailure } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/log.ts";
import type { LocalConfig } from "./config.ts";
import { type Credentials, makeCredentials, makeKubeconfig } from "./credentials.ts";
import { openDataDirectory, writeWhole } from "./data-directory.ts";
import { startKubelet } from "./kubelet/start-kubelet.ts";
import { type LoopbackPlaces, loopbackPlaces, usableLoopback } from "./loopback-places.ts";
import { startServiceProxy } from "./proxy/start-service-proxy.ts";
import { namingThePort } from "./taken-port.ts";
import { tour } from "./tour.ts";
import { type Addresses, describeAddresses } from "./words.ts";

export interface LocalWorld {
  readonly clock: Clock;
  readonly log: Logger;
  /** What a person reads; the log goes elsewhere. */
  readonly say: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder that holds a folder for each example. */
  readonly examplesDirectory: string;
}

const host = "127.0.0.1";
const domain = "sandbox.localhost";

// There is nobody to lead beside it, nobody who scrapes it, and the API server in memory converts by itself.
const controllerFlags = [
  "--extensions",
  "--leader-elect=false",
  "--enable-webhook=false",
  "--metrics-bind-address=0",
  "--health-probe-bind-address=0",
];

/**
 * Runs an API server, a kubelet of processes, the controller and the activator in this process until `stop` is aborted,
 * then ends them in the reverse order. The two programs are the ones that run on a cluster; only what they talk to is
 * different.
 *
 * @throws TakenPort, DataDirInUse, or what made one of the parts end by itself.
 */
export async function runLocal(config: LocalConfig, world: LocalWorld, stop: AbortSignal): Promise<void> {
  const { clock, log, say } = world;
  using data = openDataDirectory(config.dataDir);
  const places = loopbackPlaces(data.path);
  // Where Services lead to the activator: it opens a port there for each port of a sandbox.
  const front = await usableLoopback(places.activator, log);
  const credentials = await makeCredentials(clock);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });

  const podLogs = new LateBoundPodLogs();
  await using api = await startApi(config, world, { directory: data.path, places, credentials, podLogs });
  const connection = connectionFor({ server: api.url, token: credentials.token, ca: credentials.authority });
  await using client = createKubeClient(connection, { userAgent: "rouse-local", registry });
  await using kubelet = startKubelet({ client, clock, log, dataDir: data.path, environment: world.environment });
  podLogs.bind(kubelet.podLogs);
  // The controller is there first, and asks nobody before the activator is, too.
  const activators = new KnownActivators();
  await using controller = await startController(parseControllerConfig(controllerFlags), {
    client,
    clock,
    log,
    registry,
    identity: "local",
    activators: { finder: activators, call: drainCalls(() => undefined, clock) },
  });
  const wakes: WakeTimeline[] = [];
  await using activator = await namingThePort(config.port, "activator", "--port", () =>
    startActivator(activatorConfig(config, front), {
      client,
      clock,
      log,
      registry,
      onWake: (wake) => void wakes.push(wake),
    }),
  );

  if (activator.drainPort !== undefined) activators.are([{ id: "local", host: front, port: activator.drainPort }]);

  await using proxy = startServiceProxy({ client, clock, log });
  const failed = firstFailure(api, kubelet, controller, activator, proxy);
  const addresses: Addresses = {
    api: api.url,
    kubeconfig: join(data.path, "kubeconfig"),
    activator: activator.proxyUrl,
    metrics: `${activator.opsUrl}/metrics`,
    domain,
  };
  const begin = async () => {
    await Promise.all([kubelet, controller, proxy].map(({ synced }) => synced));
    writeWhole(addresses.kubeconfig, makeKubeconfig(api.url, credentials), 0o600);
    say(`\nRouse runs on this machine, for you alone:\n\n${describeAddresses(addresses)}`);
    await tour({ ...world, client, addresses, activatorPort: activator.proxyPort, wakes }, config.examples, stop);
    if (config.readyFile) writeWhole(config.readyFile, `${JSON.stringify(addresses)}\n`, 0o600);
  };
  const stopped = new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
  await Promise.race([begin().then(() => stopped), stopped, failed]);
  say("\nStopping ...\n");
}

function startApi(
  config: LocalConfig,
  { clock, log }: LocalWorld,
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
      // What is thrown away at the end need not be written down.
      ...(config.dataDir !== undefined && { dataDir: join(parts.directory, "api") }),
    }),
  );
}

/** The activator as a person at one machine wants it: no token on loopback, and no autoscaler that could add a node. */
function activatorConfig({ port }: LocalConfig, front: string) {
  const flags = [
    `--http-bind-address=${host}:${port}`,
    "--metrics-bind-address=",
    `--health-probe-bind-address=${host}:0`,
    `--domain=${domain}`,
    "--authz-mode=allow-all",
    "--allow-loopback-pod-ip=true",
    "--unschedulable-grace=2s",
    "--drain-settle=0s",
    `--drain-bind-address=${front}:0`,
    `--tcp-front-bind-address=${front}`,
    "--shutdown-timeout=5s",
  ];
  return parseActivatorConfig(flags, {});
}

/** The API server serves logs from the first moment on, and who has them starts after it, because it needs the API. */
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
