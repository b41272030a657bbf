import {
  type Context,
  type Tracer as Recorder,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { Clock } from "../time/clock.ts";
import type { OpenSpan, Span, SpanStart, TraceHeaders, Tracer } from "./tracer.ts";

const propagator = new W3CTraceContextPropagator();

/** A tracer whose spans OpenTelemetry records. Their times are the clock's. */
export function createTracer(recorder: Recorder, clock: Clock): Tracer {
  function begin({ name, parent = ROOT_CONTEXT, attributes }: SpanStart, kind: SpanKind) {
    const startMs = clock.now().getTime();
    const startTicksMs = clock.ticksMs();
    // Monotonic, so that a change of the wall clock does not distort a span.
    const nowMs = () => startMs + clock.ticksMs() - startTicksMs;
    const recorded = recorder.startSpan(name, { kind, attributes, startTime: startMs }, parent);
    return { recorded, nowMs, context: trace.setSpan(parent, recorded) };
  }

  async function during<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
    const { recorded, nowMs, context } = begin(start, SpanKind.INTERNAL);
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

  function open(start: SpanStart, kind = SpanKind.SERVER): OpenSpan {
    const { recorded, nowMs, context } = begin(start, kind);
    return {
      headers: headersOf(context),
      event: (what) => void recorded.addEvent(what, nowMs()),
      setAttributes: (attributes) => void recorded.setAttributes(attributes),
      part: (name) => open({ name, parent: context, attributes: {} }, SpanKind.INTERNAL),
      end(failure) {
        if (!recorded.isRecording()) return;
        if (failure !== undefined) recorded.setStatus({ code: SpanStatusCode.ERROR, message: failure });
        recorded.end(nowMs());
      },
    };
  }

  return { enabled: true, parentIn, during, open };
}

function parentIn(headers: object): Context | undefined {
  const context = propagator.extract(ROOT_CONTEXT, new Map(Object.entries(headers)), {
    get: (carrier, key) => carrier.get(key),
    keys: (carrier) => [...carrier.keys()],
  });
  return trace.getSpanContext(context) && context;
}

function headersOf(context: Context): TraceHeaders {
  const headers: Record<string, string> = {};
  propagator.inject(context, headers, {
    set(carrier, key, value) {
      // A state that is too long to propagate becomes an empty one.
      if (value !== "") carrier[key] = value;
    },
  });
  return headers;
}
