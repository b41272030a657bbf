import { setLogger } from "@grpc/grpc-js";
import { DiagLogLevel, diag } from "@opentelemetry/api";
import { setGlobalErrorHandler } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Logger } from "../log/log.ts";
import type { Clock } from "../time/clock.ts";
import { createTracer } from "./create-tracer.ts";
import { PatientExporter, patienceMs } from "./patient-exporter.ts";
import type { Tracer } from "./tracer.ts";

export interface TracingOptions {
  /** The collector's address for OTLP over gRPC; `http:` is not encrypted. */
  readonly collector: URL;
  readonly origin: {
    /** `service.name`. */
    readonly service: string;
    readonly version: string;
  };
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Tracing extends AsyncDisposable {
  readonly tracer: Tracer;
}

/** The time limit of one call to the collector: the process waits for one call at exit, and has three seconds. */
const callLimitMs = 2_500;

/**
 * Starts the export of traces to a collector, which may be unavailable: no work ever waits for it. Spans are sent in
 * batches. Unsent spans wait, and beyond a limit the newest are dropped. Disposing tries to send the rest, for less
 * than three seconds.
 *
 * This file loads OpenTelemetry's packages, so it is imported only when needed.
 */
export function startTracing({ collector, origin, clock, log }: TracingOptions): Tracing {
  listen(log);
  const { service, version } = origin;
  const calls = new OTLPTraceExporter({
    url: collector.href,
    timeoutMillis: callLimitMs,
    userAgent: `${service}/${version}`,
  });
  const exporter = new PatientExporter({ exporter: calls, clock, log });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": service, "service.version": version }),
    // The other limits are those of the OpenTelemetry specification: batches of 512 every five seconds, 2,048 may wait.
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: patienceMs + 2 * callLimitMs })],
  });
  return {
    tracer: createTracer(provider.getTracer(service, version), clock),
    async [Symbol.asyncDispose]() {
      exporter.hurry();
      // It rejects when spans could not be sent, which was logged already, and leaves the connection open.
      await provider.shutdown().catch(() => {});
      await exporter.shutdown();
    },
  };
}

/** Writes the packages' messages to our log, without those that the exporter reports itself. */
function listen(log: Logger): void {
  const warn = (...said: readonly unknown[]) => log.warn({ said: said.map(String) }, "OpenTelemetry warning");
  const nothing = () => {};
  setGlobalErrorHandler(nothing);
  setLogger({ error: warn, info: nothing, debug: nothing });
  const logger = { error: warn, warn, info: nothing, debug: nothing, verbose: nothing };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
