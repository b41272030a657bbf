import { join } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { FlagError, HelpRequested, usage } from "../lib/flags.ts";
import { stopOnSignals } from "../lib/lifecycle.ts";
import { createLogger } from "../lib/log.ts";
import { localFlags, parseLocalConfig } from "./config.ts";
import { runLocal } from "./run.ts";

process.exitCode = await main(process.argv.slice(2));

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
    return explain(error, stop.signal);
  }
}

/** Says in one line why the program ends, and what its status is. */
function explain(error: unknown, stop: AbortSignal): number {
  if (stop.aborted && error === stop.reason) return 0;
  if (error instanceof HelpRequested) {
    process.stdout.write(usage("npm start --", localFlags));
    return 0;
  }
  if (error instanceof FlagError) {
    process.stderr.write(`${error.message}\n\n${usage("npm start --", localFlags)}`);
    return 2;
  }
  process.stderr.write(`rouse: ${error instanceof Error ? error.message : String(error)}\n`);
  return 1;
}
