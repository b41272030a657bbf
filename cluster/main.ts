// Brings a one-node Kubernetes up on this machine, or ends it: `npm run cluster -- [up | down] [flags]`. Up ends by
// waking a sandbox on it.
import { systemClock } from "../lib/clock.ts";
import { explain } from "../lib/explain.ts";
import { defaultCacheDirectory } from "../tools/build-tool.ts";
import { bringUp } from "./bring-up.ts";
import { clusterFlags, parseClusterConfig } from "./config.ts";
import { endCluster } from "./end-cluster.ts";
import { tour } from "./tour.ts";

const say = (line: string) => void process.stderr.write(`${line}\n`);

process.exitCode = await main(process.argv.slice(2));

/** The exit status of the process. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const config = parseClusterConfig(args, process.env);
    const clock = systemClock;
    const startMs = clock.ticksMs();
    const seconds = () => `${((clock.ticksMs() - startMs) / 1_000).toFixed(1)} s`;
    if (config.action === "down") {
      await endCluster(config.directory, clock);
      say(`the cluster is gone (${seconds()})`);
      return 0;
    }
    const cacheDirectory = defaultCacheDirectory(process.env);
    const cluster = await bringUp(config, { cacheDirectory, environment: process.env, say }, clock);
    say(`the cluster is ready (${seconds()})`);
    await tour(cluster, clock, (text) => void process.stdout.write(text));
    return 0;
  } catch (error) {
    return explain(error, { name: "cluster", command: "npm run cluster -- [up | down]", flags: clusterFlags }, process);
  }
}
