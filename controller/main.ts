import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { collectDefaultMetrics } from "prom-client";
import { loadConnection } from "../kube/client/connection.ts";
import { createKubeClient } from "../kube/client/http-client.ts";
import { serviceAccountFolder } from "../kube/client/in-pod.ts";
import { aborted, endProcess } from "../lib/process/lifecycle.ts";
import { type ProgramParts, runProgram } from "../lib/process/run-program.ts";
import { stayAlive } from "../lib/process/stay-alive.ts";
import { systemClock } from "../lib/time/clock.ts";
import { Turns } from "../lib/time/turns.ts";
import { loadTracing } from "../lib/tracing/load-tracing.ts";
import { noTracer } from "../lib/tracing/tracer.ts";
import { type ControllerConfig, parseControllerConfig } from "./config/config.ts";
import { controllerFlags } from "./config/controller-flags.ts";
import { version } from "./metrics/build-info.ts";

const program = "agent-sandbox-controller";
const namespaceFile = join(serviceAccountFolder, "namespace");
// kube-proxy may take a second to notice that an endpoint has gone, and others need longer; a Pod has 30 seconds to end.
const webhookLingerMs = 5_000;
// For the passes in hand, the lease and the webhook's linger; below the 30 seconds that a Pod has to end.
const endLimitMs = 25_000;

endProcess(
  await runProgram({
    ...{ name: program, version, flags: controllerFlags, run },
    configure: () => inPod(parseControllerConfig(process.argv.slice(2), process.env)),
    endLimitMs: () => endLimitMs,
  }),
);

async function run(config: ControllerConfig, { log, registry }: ProgramParts, stop: AbortSignal): Promise<void> {
  // If no page is served and the API server is unreachable or denies access, nothing else keeps the process alive.
  using _alive = stayAlive();
  for (const warning of config.warnings) log.warn(warning);
  collectDefaultMetrics({ register: registry });
  const connection = await loadConnection({ kubeconfig: config.kubeconfig, environment: process.env });
  const userAgent = `${program}/${version}`;
  const clock = systemClock;
  const turns = new Turns(clock);
  await using client = createKubeClient(connection, { userAgent, registry, turns, ...config.api });
  // Without the rate limit and the turns of the other clients: a leader must always be able to renew its lease.
  await using leaseClient = createKubeClient(connection, { userAgent, connections: 1 });
  const identity = `${hostname()}_${randomUUID()}`;
  await using tracing = await loadTracing(config.traceCollector, { origin: { service: program, version }, clock, log });
  const tracer = tracing?.tracer ?? noTracer;
  // It takes a third of a second to load, and neither --help nor a wrong setting needs it.
  const { startController } = await import("./start.ts");
  const starting = startController(config, {
    client,
    checking: (mayCall) => client.checking(mayCall),
    leaseClient,
    clock,
    turns,
    log,
    registry,
    identity,
    tracer,
    stop,
  });
  await using controller = await starting.catch((error: unknown) => {
    if (!stop.aborted) throw error;
    return undefined;
  });
  if (!controller) {
    log.info("stopped before the start was complete");
    return;
  }
  log.info({ metrics: controller.metricsUrl, health: controller.healthUrl, identity }, "started");
  await Promise.race([aborted(stop), controller.failed]);
  log.info("stopping");
}

/**
 * In a Pod the lease lives in the Pod's own namespace, unless a flag says otherwise; and the webhook is behind a Service, whose
 * users learn late that a Pod ends.
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
