import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import { censored, secretNames, withoutSecrets } from "./log-secrets.ts";

export type { Logger } from "pino";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** One JSON line per entry on standard error, or on `destination`. A message is a constant sentence; values are fields. */
export function createLogger(name: string, level: LogLevel = "info", destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      // Parts of the program name themselves as `logger`, in loggers made from this one.
      base: { program: name },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: withoutSecrets },
      // Errors are written out by withoutSecrets, wherever they stand.
      serializers: { err: (written) => written },
      // The fields of a child logger do not pass through the formatter above.
      redact: { paths: secretNames.map((secret) => `["${secret}"]`), censor: censored },
    },
    destination ?? pino.destination({ dest: 2, sync: false }),
  );
}

/** A logger that says nothing, for tests and for callers that have none. */
export const silentLogger: Logger = pino({ level: "silent" });
