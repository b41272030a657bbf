import { Registry } from "prom-client";
import type { FlagTable } from "../flags/flags.ts";
import { explain } from "../guard/explain.ts";
import { createLogger, type Logger, type LogLevel } from "../log/log.ts";
import { systemClock } from "../time/clock.ts";
import { runSupervised } from "./supervise.ts";

/** What every program's configuration has. */
export interface ProgramConfig {
  /** Whether the version is asked for, and nothing else. */
  readonly version: boolean;
  readonly logLevel: LogLevel;
}

export interface ProgramParts {
  readonly log: Logger;
  readonly registry: Registry;
}

export interface Program<C extends ProgramConfig> {
  readonly name: string;
  readonly version: string;
  readonly flags: FlagTable;
  /** @throws the errors of its flags and settings. */
  readonly configure: () => C | Promise<C>;
  /** Milliseconds for a regular shutdown after an error that no guard caught. */
  readonly endLimitMs: (config: C) => number;
  /** Runs until the signal is aborted, or something fails. */
  readonly run: (config: C, parts: ProgramParts, stop: AbortSignal) => Promise<void>;
}

/** Runs a program of ours until a signal or a failure. Resolves with the exit status of the process, and never rejects. */
export async function runProgram<C extends ProgramConfig>(program: Program<C>): Promise<number> {
  const { name, version, flags, configure, endLimitMs, run } = program;
  try {
    const config = await configure();
    if (config.version) {
      process.stdout.write(`${name} v${version}\n`);
      return 0;
    }
    const parts = { log: createLogger(name, config.logLevel), registry: new Registry() };
    const supervision = { ...parts, clock: systemClock, endLimitMs: endLimitMs(config) };
    return await runSupervised(process, supervision, (stop) => run(config, parts, stop));
  } catch (error) {
    return explain(error, { name, flags }, process);
  }
}
