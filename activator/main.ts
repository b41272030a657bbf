import { collectDefaultMetrics, Registry } from "prom-client";
import { loadConnection } from "../kube/connection.ts";
import { createKubeClient } from "../kube/http-client.ts";
import { systemClock } from "../lib/clock.ts";
import { explain } from "../lib/explain.ts";
import { aborted, endProcess, stopOnSignals } from "../lib/lifecycle.ts";
import { createLogger } from "../lib/log.ts";
import { loadTracing } from "../lib/tracing/load-tracing.ts";
import { type ActivatorConfig, parseActivatorConfig } from "./config.ts";
import { fileFlags } from "./config-file.ts";
import { activatorFlags } from "./flags.ts";
import { startActivator, version } from "./start.ts";

const program = "rouse-activator";

endProcess(await main(process.argv.slice(2)));

/** Runs until a signal or a failure; the exit status of the process. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const config = parseActivatorConfig([...(await fileFlags(args, process.env)), ...args], process.env);
    if (config.version) process.stdout.write(`${program} v${version}\n`);
    else await run(config);
    return 0;
  } catch (error) {
    return explain(error, { name: program, flags: activatorFlags }, process);
  }
}

async function run(config: ActivatorConfig): Promise<void> {
  using stop = stopOnSignals(process);
  const log = createLogger(program, config.logLevel);
  for (const warning of config.warnings) log.warn(warning);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const connection = await loadConnection({ kubeconfig: config.kubeconfig, environment: process.env });
  await using client = createKubeClient(connection, { userAgent: `${program}/${version}`, registry });
  const clock = systemClock;
  const origin = { service: "sandbox-router", version };
  await using tracing = await loadTracing(config.traceCollector, { origin, clock, log });
  const traced = tracing && { tracer: tracing.tracer };
  await using activator = await startActivator(config, { client, clock, log, registry, ...traced });
  log.info({ proxy: activator.proxyUrl, ops: activator.opsUrl }, "started");
  await Promise.race([aborted(stop.signal), activator.failed]);
  log.info("draining");
  await activator.drain();
  log.info("stopping");
}
