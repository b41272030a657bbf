import { Counter, type Registry } from "prom-client";
import { type GuardedPlace, guardedPlaces, onUnexpectedError, reportUnexpected } from "../guard/guard.ts";
import { onAbort } from "../guard/on-abort.ts";
import type { Logger } from "../log/log.ts";
import { countDroppedLines } from "../log/log-stream.ts";
import type { Clock, Timer } from "../time/clock.ts";
import { endProcess, stopOnSignals } from "./lifecycle.ts";

export interface SupervisionParts {
  readonly clock: Clock;
  readonly log: Logger;
  /** The registry of `rouse_unexpected_errors_total` and `rouse_log_lines_dropped_total`. */
  readonly registry: Registry;
  /** Milliseconds for a shutdown, after a signal and after an error that no guard caught. */
  readonly endLimitMs: number;
}

/** After this number of uncaught errors during the shutdown the process ends at once: something loops. */
const escapedMax = 100;

/** The limit of lines a minute for each place; the next line has the number of omitted ones. */
const linesPerMinute = 10;
const minuteMs = 60_000;

/**
 * Runs a program until it ends, and resolves with the exit status of its process. `work` shuts down once the signal is
 * aborted: by SIGTERM, SIGINT or SIGHUP (status 0), or by an error that no guard caught (status 1). Such an error is
 * logged with its stack and counted. Further errors are logged and do not shorten the shutdown, up to a limit in number.
 * A shutdown that takes longer than its limit, or has too many errors, ends the process at once with status 1.
 *
 * @throws the errors of `work`.
 */
export async function runSupervised(
  process: NodeJS.Process,
  parts: SupervisionParts,
  work: (stop: AbortSignal) => Promise<void>,
): Promise<number> {
  using _reports = reportTo(parts);
  using signals = stopOnSignals(process);
  const broken = new AbortController();
  let escaped = 0;
  const onEscaped = (error: unknown) => {
    reportUnexpected("process", error);
    escaped += 1;
    if (escaped > escapedMax) endProcess(1);
    if (escaped > 1) return;
    parts.log.error({ limitMs: parts.endLimitMs }, "shutting down: uncaught error");
    broken.abort(error);
  };
  const stop = AbortSignal.any([signals.signal, broken.signal]);
  let limit: Timer | undefined;
  using _stopping = onAbort(stop, () => {
    limit = parts.clock.after(parts.endLimitMs, () => {
      parts.log.error({ limitMs: parts.endLimitMs }, "the shutdown takes too long: ending at once");
      endProcess(1);
    });
  });
  // Without a handler of its own, Node turns an unhandled rejection into an uncaught exception.
  process.on("uncaughtException", onEscaped);
  try {
    await work(stop);
  } finally {
    limit?.cancel();
    process.off("uncaughtException", onEscaped);
  }
  return escaped === 0 ? 0 : 1;
}

/** Counts and logs every unexpected error of this process until disposed. */
export function reportTo({ clock, log, registry }: Omit<SupervisionParts, "endLimitMs">): Disposable {
  const counter = new Counter({
    name: "rouse_unexpected_errors_total",
    help: 'Unexpected errors, by the part of the program that caught them. With where="process", no part caught the error, and the replica shut down.',
    labelNames: ["where"] as const,
    registers: [registry],
  });
  for (const where of guardedPlaces) counter.inc({ where }, 0);
  countDroppedLines(registry);
  const lines = new Map<GuardedPlace, { beganMs: number; written: number; leftOut: number }>();
  return onUnexpectedError((where, error) => {
    counter.inc({ where });
    const nowMs = clock.ticksMs();
    let minute = lines.get(where);
    const leftOut = minute?.leftOut ?? 0;
    if (!minute || nowMs - minute.beganMs >= minuteMs) {
      minute = { beganMs: nowMs, written: 0, leftOut: 0 };
      lines.set(where, minute);
    }
    if (minute.written >= linesPerMinute) minute.leftOut += 1;
    else {
      minute.written += 1;
      log.error({ err: error, where, ...(leftOut > 0 && minute.written === 1 && { leftOut }) }, "unexpected error");
    }
  });
}
