import { type ReadableSpan, TracerProvider } from "@opentelemetry/sdk-trace";
import { FakeClock } from "../../../lib/time/clock.ts";
import { createTracer } from "../../../lib/tracing/create-tracer.ts";
import type { Tracer } from "../../../lib/tracing/tracer.ts";

/** A span that has ended. */
export interface RecordedSpan extends Pick<ReadableSpan, "name" | "attributes" | "events"> {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
}

export interface RecordingTracer {
  readonly tracer: Tracer;
  /** In the order of their ends. */
  readonly spans: readonly RecordedSpan[];
  named(name: string): readonly RecordedSpan[];
}

/** A tracer that keeps all spans instead of exporting them. */
export function recordingTracer(): RecordingTracer {
  const spans: RecordedSpan[] = [];
  const keep = (span: ReadableSpan) => {
    const { name, attributes, events, parentSpanContext } = span;
    const { traceId, spanId } = span.spanContext();
    spans.push({ name, attributes, events, traceId, spanId, parentSpanId: parentSpanContext?.spanId });
  };
  const provider = new TracerProvider({
    spanProcessors: [{ onStart() {}, onEnd: keep, forceFlush: async () => {}, shutdown: async () => {} }],
  });
  const tracer = createTracer(provider.getTracer("recording"), new FakeClock());
  return { tracer, spans, named: (name) => spans.filter((span) => span.name === name) };
}
