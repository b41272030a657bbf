// Starts or ends a one-node Kubernetes on this machine: `npm run cluster -- [up | down] [flags]`. `up` ends with a
// demonstration that wakes a sandbox.

import { explain } from "../lib/guard/explain.ts";
import { systemClock } from "../lib/time/clock.ts";
import { defaultCacheDirectory } from "../scripts/tools/build-tool.ts";
import { bringUp } from "./bring-up.ts";
import { clusterFlags, parseClusterConfig } from "./config.ts";
import { showDemo } from "./demo/show-demo.ts";
import { endCluster } from "./end-cluster.ts";
import { lockMachine } from "./machine/one-command.ts";

const say = (line: string) => void process.stderr.write(`${line}\n`);

process.exitCode = await main(process.argv.slice(2));

/** The exit status of the process. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const config = parseClusterConfig(args, process.env);
    await using _lock = await lockMachine();
    const clock = systemClock;
    const startMs = clock.ticksMs();
    const seconds = () => `${((clock.ticksMs() - startMs) / 1_000).toFixed(1)} s`;
    if (config.action === "down") {
      const ended = await endCluster(config.directory, clock);
      say(ended ? `the cluster is removed (${seconds()})` : `there is no cluster in ${config.directory}`);
      return 0;
    }
    const cacheDirectory = defaultCacheDirectory(process.env);
    const cluster = await bringUp(config, { cacheDirectory, environment: process.env, say }, clock);
    say(`the cluster is ready (${seconds()})`);
    await showDemo(cluster, clock, (text) => void process.stdout.write(text));
    return 0;
  } catch (error) {
    return explain(error, { name: "cluster", command: "npm run cluster -- [up | down]", flags: clusterFlags }, process);
  }
}
