import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";

export type { Logger } from "pino";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

// Credentials never reach a log, even when a whole object with one in it is handed over by mistake.
const secrets = ["authorization", "token", "*.authorization", "*.token", "*.cookie", "cookie", "*.password"];

/** One JSON line per entry on standard error, or on `destination`. A message is a constant sentence; values are fields. */
export function createLogger(name: string, level: LogLevel = "info", destination?: DestinationStream): Logger {
  return pino(
    {
      name,
      level,
      base: null,
      redact: { paths: secrets, censor: "[redacted]" },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination ?? pino.destination({ dest: 2, sync: false }),
  ).child({ logger: name });
}

/** A logger that says nothing, for tests and for callers that have none. */
export const silentLogger: Logger = pino({ level: "silent" });
