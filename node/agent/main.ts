import { collectDefaultMetrics } from "prom-client";
import { loadConnection } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { aborted, endProcess } from "../../lib/process/lifecycle.ts";
import { type ProgramParts, runProgram } from "../../lib/process/run-program.ts";
import { stayAlive } from "../../lib/process/stay-alive.ts";
import { systemClock } from "../../lib/time/clock.ts";
import packageJson from "../../package.json" with { type: "json" };
import { agentFlags } from "./config/agent-flags.ts";
import { type AgentConfig, parseAgentConfig } from "./config/config.ts";
import { endLimitMs, startAgent } from "./start-agent.ts";

const program = "rouse-node-agent";
const version = packageJson.version;
endProcess(
  await runProgram({
    ...{ name: program, version, flags: agentFlags, run },
    configure: () => parseAgentConfig(process.argv.slice(2), process.env),
    endLimitMs: () => endLimitMs,
  }),
);

async function run(config: AgentConfig, { log, registry }: ProgramParts, stop: AbortSignal): Promise<void> {
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
