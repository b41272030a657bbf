import { loadConnection } from "../kube/connection.ts";
import { createKubeClient } from "../kube/http-client.ts";
import { systemClock } from "../lib/clock.ts";
import { explain } from "../lib/explain.ts";
import { stopOnSignals } from "../lib/lifecycle.ts";
import { stayAlive } from "../lib/stay-alive.ts";
import { migrateFlags, parseMigrateConfig } from "./config.ts";
import { runMigration } from "./run.ts";

process.exitCode = await main(process.argv.slice(2));

/** The exit status: 0 when the upgrade can go on, 1 when it cannot, 2 when the command line was wrong. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const config = parseMigrateConfig(args);
    using stop = stopOnSignals(process);
    using _alive = stayAlive();
    const connection = await loadConnection({ kubeconfig: config.kubeconfig, environment: process.env });
    await using client = createKubeClient(connection, { userAgent: "rouse-migrate" });
    const say = (line: string) => void process.stdout.write(`${line}\n`);
    return (await runMigration(config, { client, clock: systemClock, say }, stop.signal)) ? 0 : 1;
  } catch (error) {
    return explain(error, { name: "migrate", command: "npm run migrate --", flags: migrateFlags }, process);
  }
}
