import { join } from "node:path";
import { collectDefaultMetrics, Registry } from "prom-client";
import { explain } from "../lib/guard/explain.ts";
import { createLogger } from "../lib/log/log.ts";
import { endProcess } from "../lib/process/lifecycle.ts";
import { runSupervised } from "../lib/process/supervise.ts";
import { systemClock } from "../lib/time/clock.ts";
import { type LocalConfig, localFlags, parseLocalConfig } from "./config.ts";
import { namingTheDisk } from "./full-disk.ts";

// For the grace period of every sandbox's Pod, and for the shutdown after it.
const endLimitMs = 60_000;

endProcess(await main(process.argv.slice(2)));

/** Runs until a signal or a failure; returns the exit status of the process. */
async function main(args: readonly string[]): Promise<number> {
  try {
    return await supervise(parseLocalConfig(args));
  } catch (error) {
    return explain(error, { name: "rouse", command: "npm start --", flags: localFlags }, process);
  }
}

function supervise(config: LocalConfig): Promise<number> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const dependencies = {
    clock: systemClock,
    log: createLogger("rouse", config.logLevel),
    registry,
    say: (text: string) => void process.stdout.write(text),
    environment: process.env,
    examplesDirectory: join(import.meta.dirname, "..", "examples"),
  };
  return runSupervised(process, { ...dependencies, endLimitMs }, async (stop) => {
    try {
      // Both programs and the API server take half a second to load, and --help does not need them.
      const { runLocal } = await import("./run.ts");
      await runLocal(config, dependencies, stop);
    } catch (error) {
      // An operation that the signal aborts fails with the signal's reason.
      if (!stop.aborted || error !== stop.reason) throw namingTheDisk(error, config.dataDir);
    }
  });
}
