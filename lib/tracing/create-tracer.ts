import { type Context, type Tracer as Recorder, ROOT_CONTEXT, SpanStatusCode, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { Clock } from "../clock.ts";
import type { Attributes, Span, SpanStart, Tracer } from "./tracer.ts";

const propagator = new W3CTraceContextPropagator();

/** A tracer whose spans are recorded by OpenTelemetry. Their times are the clock's. */
export function createTracer(recorder: Recorder, clock: Clock): Tracer {
  async function during<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
    const startMs = clock.now().getTime();
    const startTicksMs = clock.ticksMs();
    // Measured, so that a wall clock that was set makes no span odd.
    const nowMs = () => startMs + clock.ticksMs() - startTicksMs;
    const { name, parent = ROOT_CONTEXT, attributes } = start;
    const recorded = recorder.startSpan(name, { attributes, startTime: startMs }, parent);
    const context = trace.setSpan(parent, recorded);
    try {
      return await work({
        headers: headersOf(context),
        event: (what, about) => void recorded.addEvent(what, about, nowMs()),
        during: (part, workOnIt) => during({ name: part, parent: context, attributes: {} }, workOnIt),
      });
    } catch (error) {
      recorded.setStatus({
        code: SpanStatusCode.ERROR,
        message: error instanceof Error ? error.message : String(error),
      });
      throw error;
    } finally {
      recorded.end(nowMs());
    }
  }
  return { enabled: true, parentIn, during };
}

function parentIn(headers: object): Context | undefined {
  const context = propagator.extract(ROOT_CONTEXT, new Map(Object.entries(headers)), {
    get: (carrier, key) => carrier.get(key),
    keys: (carrier) => [...carrier.keys()],
  });
  return trace.getSpanContext(context) && context;
}

function headersOf(context: Context): Attributes {
  const headers: Record<string, string> = {};
  propagator.inject(context, headers, {
    set(carrier, key, value) {
      // A state that was too long to be handed on is written as an empty one.
      if (value !== "") carrier[key] = value;
    },
  });
  return headers;
}
