import { setLogger } from "@grpc/grpc-js";
import { DiagLogLevel, diag } from "@opentelemetry/api";
import { setGlobalErrorHandler } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { createTracer } from "./create-tracer.ts";
import { PatientExporter, patienceMs } from "./patient-exporter.ts";
import type { Tracer } from "./tracer.ts";

export interface TracingOptions {
  /** Where the collector listens for OTLP over gRPC; `http:` is without encryption. */
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

/** How long one call to the collector may take: the end of a process waits for one, and has three seconds. */
const callLimitMs = 2_500;

/**
 * Starts to export traces to a collector, which need not be there: nobody ever waits for it. Spans go in batches; what
 * cannot be sent waits, and beyond a limit the newest are dropped. Disposal tries to send what is left, for less than
 * three seconds.
 *
 * This file loads OpenTelemetry's packages, so it is imported when it is needed and not before.
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
      // It fails when something could not be sent, which has been told, and then leaves the connection open.
      await provider.shutdown().catch(() => {});
      await exporter.shutdown();
    },
  };
}

/** What the packages have to say goes to our log, and what the exporter tells anyway is not told twice. */
function listen(log: Logger): void {
  const warn = (...said: readonly unknown[]) => log.warn({ said: said.map(String) }, "warning of a package for traces");
  const nothing = () => {};
  setGlobalErrorHandler(nothing);
  setLogger({ error: warn, info: nothing, debug: nothing });
  const logger = { error: warn, warn, info: nothing, debug: nothing, verbose: nothing };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
