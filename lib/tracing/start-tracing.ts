import type { Clock } from "../clock.ts";
import type { Running } from "../lifecycle.ts";
import type { Logger } from "../log.ts";
import { createGrpcCaller, GrpcFailure } from "./grpc-call.ts";
import { encodeTraces, type Origin } from "./otlp-message.ts";
import { startSpanExporter } from "./span-exporter.ts";
import { createTracer, type Tracer } from "./tracer.ts";

export interface TracingOptions {
  /** Where the collector listens for OTLP over gRPC. */
  readonly collector: URL;
  readonly origin: Origin;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Tracing extends Running {
  readonly tracer: Tracer;
}

const exportPath = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

// Cancelled, deadline exceeded, resource exhausted, aborted, out of range, unavailable, data loss (OTLP specification).
const passing: ReadonlySet<number> = new Set([1, 4, 8, 10, 11, 14, 15]);

/** Starts to export traces to a collector, which need not be there. */
export function startTracing({ collector, origin, clock, log }: TracingOptions): Tracing {
  const caller = createGrpcCaller(collector, `${origin.service}/${origin.version}`);
  const exporter = startSpanExporter({
    send: (spans, signal) => caller.call(exportPath, encodeTraces(origin, spans), signal),
    isFinal: (failure) => failure instanceof GrpcFailure && !passing.has(failure.status),
    clock,
    log,
  });
  return {
    tracer: createTracer({ clock, onFinished: (span) => exporter.add(span) }),
    failed: exporter.failed,
    async [Symbol.asyncDispose]() {
      await exporter[Symbol.asyncDispose]();
      caller[Symbol.dispose]();
    },
  };
}

// Where collectors listen on the same machine (OTLP specification).
const collectorDefault = "localhost:4317";

/**
 * Where `OTEL_EXPORTER_OTLP_ENDPOINT` says that the collector is. With a scheme, `http:` is without encryption; without
 * one, `OTEL_EXPORTER_OTLP_INSECURE` says it.
 *
 * @throws Error when it is no address.
 */
export function collectorOf(environment: Readonly<Record<string, string | undefined>>): URL {
  const text = environment["OTEL_EXPORTER_OTLP_ENDPOINT"]?.trim() || collectorDefault;
  const insecure = environment["OTEL_EXPORTER_OTLP_INSECURE"]?.trim().toLowerCase() === "true";
  const address = text.includes("://") ? text : `${insecure ? "http" : "https"}://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || url.hostname === "" || !/^https?:$/.test(url.protocol)) {
    throw new Error(`OTEL_EXPORTER_OTLP_ENDPOINT: "${text}" is not the address of a collector`);
  }
  return url;
}
