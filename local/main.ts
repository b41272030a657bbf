import { join } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { explain } from "../lib/explain.ts";
import { endProcess, stopOnSignals } from "../lib/lifecycle.ts";
import { createLogger } from "../lib/log.ts";
import { localFlags, parseLocalConfig } from "./config.ts";
import { runLocal } from "./run.ts";

endProcess(await main(process.argv.slice(2)));

/** Runs until a signal or a failure; the exit status of the process. */
async function main(args: readonly string[]): Promise<number> {
  using stop = stopOnSignals(process);
  try {
    const config = parseLocalConfig(args);
    const world = {
      clock: systemClock,
      log: createLogger("rouse", config.logLevel),
      say: (text: string) => void process.stdout.write(text),
      environment: process.env,
      examplesDirectory: join(import.meta.dirname, "..", "examples"),
    };
    await runLocal(config, world, stop.signal);
    return 0;
  } catch (error) {
    if (stop.signal.aborted && error === stop.signal.reason) return 0;
    return explain(error, { name: "rouse", command: "npm start --", flags: localFlags }, process);
  }
}
