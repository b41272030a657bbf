import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import { censored, secretNames, withoutSecrets } from "./log-secrets.ts";
import { standardErrorLog } from "./log-stream.ts";

export type { Logger } from "pino";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * One JSON line for each entry on standard error, or on `destination`. A message is a constant sentence; values are
 * fields.
 */
export function createLogger(name: string, level: LogLevel = "info", destination?: DestinationStream): Logger {
  if (destination) return createPino(name, level, destination);
  const stream = standardErrorLog();
  const log = createPino(name, level, stream);
  stream.onRecovered = (lines) => log.error({ lines }, "log lines dropped");
  return log;
}

function createPino(name: string, level: LogLevel, destination: DestinationStream): Logger {
  return pino(
    {
      level,
      // Child loggers name their part of the program as `logger`.
      base: { program: name },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: withoutSecrets },
      // withoutSecrets writes errors, at any depth.
      serializers: { err: (written) => written },
      // The formatter above does not apply to the fields of a child logger.
      redact: { paths: secretNames.map((secret) => `["${secret}"]`), censor: censored },
    },
    destination,
  );
}

/** A logger without output, for tests and callers without a log. */
export const silentLogger: Logger = pino({ level: "silent" });
