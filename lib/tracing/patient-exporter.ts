import { status } from "@grpc/grpc-js";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { backoffDelayMs } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";

export interface PatientExporterOptions {
  readonly exporter: SpanExporter;
  readonly clock: Clock;
  readonly log: Logger;
}

// What to send again, by the OTLP specification ("Failures", OTLP/gRPC).
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
/** For how long one batch is tried. */
export const patienceMs = 60_000;

/**
 * Sends again what a collector could not take for now. OpenTelemetry's exporter for gRPC gives up at the first failure,
 * other than those for HTTP, and then a collector that starts anew costs every span of that time.
 */
export class PatientExporter implements SpanExporter {
  readonly #options: PatientExporterOptions;
  readonly #closing = new AbortController();
  #failing = false;

  constructor(options: PatientExporterOptions) {
    this.#options = options;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    void this.#send(spans).then(done);
  }

  /** From now on everything is tried once. */
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
      this.#tell(result);
      const delayMs = backoffDelayMs(failures, backoff);
      if (!isPassing(result) || clock.ticksMs() + delayMs > endsMs) return result;
      const waited = await clock.sleep(delayMs, this.#closing.signal).then(
        () => true,
        () => false,
      );
      if (!waited) return result;
    }
  }

  /** Once for each outage: a collector that is away for a day is one piece of news. */
  #tell({ code, error }: ExportResult): void {
    const failing = code !== ExportResultCode.SUCCESS;
    if (failing === this.#failing) return;
    this.#failing = failing;
    if (failing) this.#options.log.warn({ reason: error?.message }, "traces cannot be exported; trying again");
    else this.#options.log.info("traces are exported again");
  }
}

const isPassing = ({ error }: ExportResult): boolean =>
  error !== undefined && "code" in error && passing.has(error.code);
