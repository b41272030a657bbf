import { status } from "@grpc/grpc-js";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { runGuarded } from "../guard/guard.ts";
import type { Logger } from "../log/log.ts";
import { backoffDelayMs } from "../queues/backoff.ts";
import type { Clock } from "../time/clock.ts";

export interface PatientExporterOptions {
  readonly exporter: SpanExporter;
  readonly clock: Clock;
  readonly log: Logger;
}

// The retryable status codes of the OTLP specification ("Failures", OTLP/gRPC).
const passing: ReadonlySet<unknown> = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.RESOURCE_EXHAUSTED,
  status.ABORTED,
  status.OUT_OF_RANGE,
  status.UNAVAILABLE,
  status.DATA_LOSS,
]);

const backoff = { baseMs: 5_000, maxMs: 30_000, jitter: 0.2 };
/** The time limit of one batch, with its retries. */
export const patienceMs = 60_000;

/**
 * Retries an export after temporary failures. OpenTelemetry's exporter for gRPC gives up at the first failure, unlike
 * those for HTTP, so a restart of the collector would lose all spans of that time.
 */
export class PatientExporter implements SpanExporter {
  readonly #options: PatientExporterOptions;
  readonly #closing = new AbortController();
  #failing = false;

  constructor(options: PatientExporterOptions) {
    this.#options = options;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    const failed = (error: unknown) =>
      done({ code: ExportResultCode.FAILED, error: error instanceof Error ? error : new Error(String(error)) });
    runGuarded("trace", () => this.#send(spans).then(done), failed);
  }

  /** From now on each export has one attempt. */
  hurry(): void {
    this.#closing.abort();
  }

  async shutdown(): Promise<void> {
    this.hurry();
    await this.#options.exporter.shutdown();
  }

  async #send(spans: ReadableSpan[]): Promise<ExportResult> {
    const { exporter, clock } = this.#options;
    const endsMs = clock.ticksMs() + patienceMs;
    for (let failures = 1; ; failures += 1) {
      const result = await new Promise<ExportResult>((resolve) => exporter.export(spans, resolve));
      const delayMs = backoffDelayMs(failures, backoff);
      const isRetried = isPassing(result) && clock.ticksMs() + delayMs <= endsMs && !this.#closing.signal.aborted;
      this.#logChange(result, isRetried);
      if (!isRetried) return result;
      const waited = await clock.sleep(delayMs, this.#closing.signal).then(
        () => true,
        () => false,
      );
      if (!waited) return result;
    }
  }

  /** Logs once for each outage: one line is enough for a collector that is unreachable for a day. */
  #logChange({ code, error }: ExportResult, isRetried: boolean): void {
    const failing = code !== ExportResultCode.SUCCESS;
    if (failing === this.#failing) return;
    this.#failing = failing;
    const next = isRetried ? "retrying" : "these spans are dropped";
    if (failing) this.#options.log.warn({ reason: error?.message, retried: isRetried }, `trace export failed; ${next}`);
    else this.#options.log.info("trace export recovered");
  }
}

const isPassing = ({ error }: ExportResult): boolean =>
  error !== undefined && "code" in error && passing.has(error.code);
