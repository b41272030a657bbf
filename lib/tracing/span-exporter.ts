import { backoffDelayMs } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { type Running, startTask } from "../lifecycle.ts";
import type { Logger } from "../log.ts";
import type { FinishedSpan } from "./tracer.ts";

export interface SpanExporter extends Running {
  /** Keeps the span to be sent; drops it when too many wait. */
  add(span: FinishedSpan): void;
}

export interface SpanExporterOptions {
  readonly send: (spans: readonly FinishedSpan[], signal: AbortSignal) => Promise<void>;
  /** Whether sending the same again is of no use. */
  readonly isFinal: (failure: unknown) => boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

// The defaults of OpenTelemetry's batch processor (specification, trace SDK).
const waitingMax = 2_048;
const batchMax = 512;
const pauseMs = 5_000;
const sendLimitMs = 10_000;
const backoff = { baseMs: 5_000, maxMs: 60_000, jitter: 0.2 };
/** How long the end of a process may take for what is still to be sent. */
const lastSendLimitMs = 3_000;

/**
 * Sends spans in batches. Nobody ever waits for it: what cannot be sent waits, and beyond a limit the newest are
 * dropped, which the log says. Disposal sends what is left, for three seconds at most, unless the last attempt failed.
 */
export function startSpanExporter(options: SpanExporterOptions): SpanExporter {
  const outbox = new Outbox(options);
  const { clock } = options;
  const task = startTask("the export of traces", async (signal) => {
    while (!signal.aborted) {
      const { failures } = outbox;
      await clock.sleep(failures > 0 ? backoffDelayMs(failures, backoff) : pauseMs, signal).catch(() => {});
      while (!signal.aborted && (await outbox.sendSome(sendLimitMs, signal)));
    }
  });
  return {
    add: (span) => outbox.add(span),
    failed: task.failed,
    async [Symbol.asyncDispose]() {
      await task[Symbol.asyncDispose]();
      if (outbox.failures > 0) return;
      const endsMs = clock.ticksMs() + lastSendLimitMs;
      const never = new AbortController().signal;
      while (clock.ticksMs() < endsMs && (await outbox.sendSome(endsMs - clock.ticksMs(), never)));
    },
  };
}

/** What is still to be sent. */
class Outbox {
  readonly #options: SpanExporterOptions;
  readonly #waiting: FinishedSpan[] = [];
  #dropped = 0;
  /** In a row. */
  failures = 0;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
  }

  add(span: FinishedSpan): void {
    if (this.#waiting.length < waitingMax) this.#waiting.push(span);
    else this.#dropped += 1;
  }

  /** Sends one batch; false when there is none or it could not be sent. */
  async sendSome(limitMs: number, signal: AbortSignal): Promise<boolean> {
    const { send, clock, log } = this.#options;
    const batch = this.#waiting.slice(0, batchMax);
    if (batch.length === 0) return false;
    const limit = new AbortController();
    using _timer = clock.after(limitMs, () => limit.abort(new Error(`not answered within ${limitMs / 1_000} s`)));
    try {
      await send(batch, AbortSignal.any([signal, limit.signal]));
    } catch (err) {
      if (!signal.aborted) this.#failed(err, batch.length);
      return false;
    }
    this.#waiting.splice(0, batch.length);
    if (this.failures > 0) log.info({ dropped: this.#dropped }, "traces are exported again");
    this.failures = this.#dropped = 0;
    return true;
  }

  #failed(err: unknown, spans: number): void {
    const { isFinal, log } = this.#options;
    this.failures += 1;
    // Once for each outage: a collector that is away for a day is one piece of news.
    if (this.failures === 1) log.warn({ err }, "traces cannot be exported; trying again");
    if (!isFinal(err)) return;
    this.#waiting.splice(0, spans);
    this.#dropped += spans;
  }
}
