import { collectDefaultMetrics, Registry } from "prom-client";
import { loadConnection } from "../kube/client/connection.ts";
import { createKubeClient } from "../kube/client/http-client.ts";
import { explain } from "../lib/guard/explain.ts";
import { createLogger, type Logger } from "../lib/log/log.ts";
import { aborted, endProcess } from "../lib/process/lifecycle.ts";
import { runSupervised } from "../lib/process/supervise.ts";
import { systemClock } from "../lib/time/clock.ts";
import { loadTracing } from "../lib/tracing/load-tracing.ts";
import { type ActivatorConfig, parseActivatorConfig } from "./config/config.ts";
import { fileFlags } from "./config/config-file.ts";
import { activatorFlags } from "./config/flags.ts";
import { endLimitOf } from "./shutdown.ts";
import { startActivator, version } from "./start.ts";

const program = "rouse-activator";

endProcess(await main(process.argv.slice(2)));

/** Runs until a signal or a failure; the exit status of the process. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const config = parseActivatorConfig([...(await fileFlags(args, process.env)), ...args], process.env);
    if (!config.version) return await supervise(config);
    process.stdout.write(`${program} v${version}\n`);
    return 0;
  } catch (error) {
    return explain(error, { name: program, flags: activatorFlags }, process);
  }
}

function supervise(config: ActivatorConfig): Promise<number> {
  const log = createLogger(program, config.logLevel);
  const registry = new Registry();
  const endLimitMs = endLimitOf(config);
  return runSupervised(process, { clock: systemClock, log, registry, endLimitMs }, (stop) =>
    run(config, { log, registry }, stop),
  );
}

interface RunParts {
  readonly log: Logger;
  readonly registry: Registry;
}

async function run(config: ActivatorConfig, { log, registry }: RunParts, stop: AbortSignal): Promise<void> {
  for (const warning of config.warnings) log.warn(warning);
  collectDefaultMetrics({ register: registry });
  const connection = await loadConnection({ kubeconfig: config.kubeconfig, environment: process.env });
  await using client = createKubeClient(connection, { userAgent: `${program}/${version}`, registry });
  const clock = systemClock;
  const origin = { service: "sandbox-router", version };
  await using tracing = await loadTracing(config.traceCollector, { origin, clock, log });
  const traced = tracing && { tracer: tracing.tracer };
  await using activator = await startActivator(config, { client, clock, log, registry, ...traced });
  log.info({ proxy: activator.proxyUrl, ops: activator.opsUrl }, "started");
  const failure = await Promise.race([aborted(stop), activator.failed.catch((error: Error) => error)]);
  if (failure) log.error({ err: failure }, "shutting down: a component failed");
  log.info("draining");
  await activator.drain();
  if (failure) throw failure;
  log.info("stopping");
}
