import { loadConnection } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { explain } from "../../lib/guard/explain.ts";
import { stopOnSignals } from "../../lib/process/lifecycle.ts";
import { stayAlive } from "../../lib/process/stay-alive.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { migrateFlags, parseMigrateConfig } from "./config.ts";
import { runMigration } from "./run.ts";

process.exitCode = await main(process.argv.slice(2));

/** The exit status: 0 if the upgrade can go on, 1 if it cannot, 2 for a wrong command line. */
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
