import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { collectDefaultMetrics, Registry } from "prom-client";
import { loadConnection } from "../kube/connection.ts";
import { createKubeClient } from "../kube/http-client.ts";
import { serviceAccountFolder } from "../kube/in-pod.ts";
import { systemClock } from "../lib/clock.ts";
import { explain } from "../lib/explain.ts";
import { aborted, endProcess, stopOnSignals } from "../lib/lifecycle.ts";
import { createLogger } from "../lib/log.ts";
import { stayAlive } from "../lib/stay-alive.ts";
import { loadTracing } from "../lib/tracing/load-tracing.ts";
import { noTracer } from "../lib/tracing/tracer.ts";
import { version } from "./build-info.ts";
import { type ControllerConfig, parseControllerConfig } from "./config.ts";
import { controllerFlags } from "./controller-flags.ts";
import { startController } from "./start.ts";

const program = "agent-sandbox-controller";
const namespaceFile = join(serviceAccountFolder, "namespace");
// kube-proxy may take a second to hear of an endpoint that has gone, and others longer; a Pod has 30 seconds to end.
const webhookLingerMs = 5_000;

endProcess(await main(process.argv.slice(2)));

/** Runs until a signal or a failure; the exit status of the process. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const config = inPod(parseControllerConfig(args, process.env));
    if (config.version) {
      process.stdout.write(`${program} v${version}\n`);
      return 0;
    }
    await run(config);
    return 0;
  } catch (error) {
    return explain(error, { name: program, flags: controllerFlags }, process);
  }
}

async function run(config: ControllerConfig): Promise<void> {
  using stop = stopOnSignals(process);
  // Where no page is served and the API server is away or says no, nothing else would keep it waiting.
  using _alive = stayAlive();
  const log = createLogger(program, config.logLevel);
  for (const warning of config.warnings) log.warn(warning);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const connection = await loadConnection({ kubeconfig: config.kubeconfig, environment: process.env });
  const userAgent = `${program}/${version}`;
  await using client = createKubeClient(connection, { userAgent, registry, ...config.api });
  // Without the rate of the others: a leader must be able to say that it lives.
  await using leaseClient = createKubeClient(connection, { userAgent, connections: 1 });
  const identity = `${hostname()}_${randomUUID()}`;
  const clock = systemClock;
  await using tracing = await loadTracing(config.traceCollector, { origin: { service: program, version }, clock, log });
  const tracer = tracing?.tracer ?? noTracer;
  await using controller = await startController(config, {
    client,
    leaseClient,
    clock,
    log,
    registry,
    identity,
    tracer,
  });
  log.info({ metrics: controller.metricsUrl, health: controller.healthUrl, identity }, "started");
  await Promise.race([aborted(stop.signal), controller.failed]);
  log.info("stopping");
}

/**
 * In a Pod the lease lives in the Pod's own namespace, unless a flag says otherwise; and the webhook is behind a Service, whose
 * users hear late of a Pod that ends.
 */
function inPod(config: ControllerConfig): ControllerConfig {
  if (!existsSync(namespaceFile)) return config;
  const { leaderElection, webhook } = config;
  const namespace = leaderElection?.namespace || readFileSync(namespaceFile, "utf8").trim();
  return {
    ...config,
    leaderElection: leaderElection && { ...leaderElection, namespace },
    webhook: webhook && { ...webhook, lingerMs: webhookLingerMs },
  };
}
