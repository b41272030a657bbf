import { type FlagValues, flag } from "./flags.ts";
import type { LogLevel } from "./log.ts";

/** The flags of the ecosystem's logger, which manifests pass on. */
export const zapFlags = {
  "zap-devel": flag.boolean(false, "log from debug level on"),
  "zap-encoder": flag.string("json", "accepted; the log is always JSON"),
  "zap-log-level": flag.string("info", "debug, info, error, panic or a number (0 is info, above is debug)"),
  "zap-stacktrace-level": flag.string("", "accepted; errors always carry their stack"),
  "zap-time-encoding": flag.string("", "accepted; times are always RFC 3339"),
};

/** @throws Error for a level that is none. */
export function zapLogLevel(values: Pick<FlagValues<typeof zapFlags>, "zap-log-level" | "zap-devel">): LogLevel {
  const text = values["zap-log-level"];
  const level = /^-?\d+$/.test(text) ? (Number(text) > 0 ? "debug" : "info") : levels.get(text);
  if (level === undefined) {
    throw new Error(`--zap-log-level: "${text}" is none of debug, info, error, panic or a number`);
  }
  return level === "info" && values["zap-devel"] ? "debug" : level;
}

const levels: ReadonlyMap<string, LogLevel> = new Map([
  ["debug", "debug"],
  ["info", "info"],
  ["warn", "warn"],
  ["error", "error"],
  ["panic", "error"],
]);
