import type { LogLevel } from "../log/log.ts";
import { type FlagValues, flag } from "./flags.ts";

/** The flags of the ecosystem's logger, for existing manifests. */
export const zapFlags = {
  "zap-devel": flag.boolean(false, "log at level debug if --zap-log-level is info"),
  "zap-encoder": flag.string("json", "accepted for compatibility; the log is always JSON"),
  "zap-log-level": flag.string(
    "info",
    "log level: debug, info, warn, error, panic (as error) or a number (up to 0: info; above 0: debug)",
  ),
  "zap-stacktrace-level": flag.string("", "accepted for compatibility; errors always include their stack"),
  "zap-time-encoding": flag.string("", "accepted for compatibility; times are always RFC 3339"),
};

/** @throws Error for an unknown level. */
export function zapLogLevel(values: Pick<FlagValues<typeof zapFlags>, "zap-log-level" | "zap-devel">): LogLevel {
  const text = values["zap-log-level"];
  const level = /^-?\d+$/.test(text) ? (Number(text) > 0 ? "debug" : "info") : levels.get(text);
  if (level === undefined) {
    throw new Error(`--zap-log-level: "${text}" is not debug, info, warn, error, panic or a number`);
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
