import { collectDefaultMetrics } from "prom-client";
import { loadConnection } from "../kube/client/connection.ts";
import { createKubeClient } from "../kube/client/http-client.ts";
import { aborted, endProcess } from "../lib/process/lifecycle.ts";
import { type ProgramParts, runProgram } from "../lib/process/run-program.ts";
import { systemClock } from "../lib/time/clock.ts";
import { loadTracing } from "../lib/tracing/load-tracing.ts";
import { type ActivatorConfig, parseActivatorConfig } from "./config/config.ts";
import { fileFlags } from "./config/config-file.ts";
import { activatorFlags } from "./config/flags.ts";
import { endLimitOf } from "./shutdown.ts";
import { startActivator, version } from "./start.ts";

const program = "rouse-activator";

endProcess(
  await runProgram({
    ...{ name: program, version, flags: activatorFlags, endLimitMs: endLimitOf, run },
    async configure() {
      const args = process.argv.slice(2);
      return parseActivatorConfig([...(await fileFlags(args, process.env)), ...args], process.env);
    },
  }),
);

async function run(config: ActivatorConfig, { log, registry }: ProgramParts, stop: AbortSignal): Promise<void> {
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
