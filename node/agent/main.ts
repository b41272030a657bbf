import { collectDefaultMetrics, Registry } from "prom-client";
import { loadConnection } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { explain } from "../../lib/guard/explain.ts";
import { createLogger, type Logger } from "../../lib/log/log.ts";
import { aborted, endProcess } from "../../lib/process/lifecycle.ts";
import { stayAlive } from "../../lib/process/stay-alive.ts";
import { runSupervised } from "../../lib/process/supervise.ts";
import { systemClock } from "../../lib/time/clock.ts";
import packageJson from "../../package.json" with { type: "json" };
import { agentFlags } from "./config/agent-flags.ts";
import { type AgentConfig, parseAgentConfig } from "./config/config.ts";
import { startAgent } from "./start-agent.ts";

const program = "rouse-node-agent";
const version = packageJson.version;
// Longer than the longest capture: the Pod would only be thawed at the next start.
const endLimitMs = 75_000;

endProcess(await main(process.argv.slice(2)));

/** Runs until a signal or a failure; the exit status of the process. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const config = parseAgentConfig(args, process.env);
    if (config.version) {
      process.stdout.write(`${program} v${version}\n`);
      return 0;
    }
    const log = createLogger(program, config.logLevel);
    const registry = new Registry();
    return await runSupervised(process, { clock: systemClock, log, registry, endLimitMs }, (stop) =>
      run(config, { log, registry }, stop),
    );
  } catch (error) {
    return explain(error, { name: program, flags: agentFlags }, process);
  }
}

interface RunParts {
  readonly log: Logger;
  readonly registry: Registry;
}

async function run(config: AgentConfig, { log, registry }: RunParts, stop: AbortSignal): Promise<void> {
  // If no page is served and the API server is unreachable or denies access, nothing else keeps the process alive.
  using _alive = stayAlive();
  collectDefaultMetrics({ register: registry });
  const connection = await loadConnection({ kubeconfig: config.kubeconfig, environment: process.env });
  await using client = createKubeClient(connection, { userAgent: `${program}/${version}`, registry });
  await using agent = await startAgent(config, { client, clock: systemClock, log, registry });
  log.info({ metrics: agent.metricsUrl, health: agent.healthUrl, node: config.nodeName }, "started");
  await Promise.race([aborted(stop), agent.failed]);
  log.info("stopping");
}
