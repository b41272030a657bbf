import { randomBytes } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { SpanContext } from "./span-context.ts";

export type Attributes = Readonly<Record<string, string>>;

export interface SpanEvent {
  readonly name: string;
  /** Milliseconds since 1970, with fractions. */
  readonly atMs: number;
  readonly attributes: Attributes;
}

/** A piece of work that is over, as it is exported. */
export interface FinishedSpan {
  readonly name: string;
  readonly context: SpanContext;
  readonly parentSpanId: string | undefined;
  /** Milliseconds since 1970, with fractions. The end is measured, so that a clock that was set makes no span odd. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  /** What went wrong; undefined: nothing. */
  readonly failure: string | undefined;
}

/** A piece of work under way. */
export interface Span {
  /** What others may continue; undefined where nothing is traced. */
  readonly context: SpanContext | undefined;
  event(name: string, attributes: Attributes): void;
  /** Does a part of the work as a span of its own. */
  during<T>(name: string, work: (span: Span) => Promise<T>): Promise<T>;
}

export interface SpanStart {
  readonly name: string;
  /** What the span continues; undefined: it begins a trace. */
  readonly parent: SpanContext | undefined;
  readonly attributes: Attributes;
}

/** The one door to tracing. */
export interface Tracer {
  /** False: nothing is recorded, and what only tracing needs to know need not be found out. */
  readonly enabled: boolean;
  /** Does the work as a span, which ends with it and says whether it failed. */
  during<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
}

const untraced: Span = { context: undefined, event() {}, during: (_, work) => work(untraced) };

/** Does the work and nothing else. */
export const noTracer: Tracer = { enabled: false, during: (_, work) => work(untraced) };

export interface TracerOptions {
  readonly clock: Clock;
  /** Takes every span that is over; it must neither wait nor throw. */
  readonly onFinished: (span: FinishedSpan) => void;
}

/** A tracer that records what begins a trace, and of others what their maker wants recorded. */
export function createTracer({ clock, onFinished }: TracerOptions): Tracer {
  async function during<T>({ name, parent, attributes }: SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
    const context: SpanContext = {
      ...(parent ?? { traceId: randomBytes(16).toString("hex"), sampled: true }),
      spanId: randomBytes(8).toString("hex"),
    };
    if (!context.sampled) return work({ ...untraced, context });
    const events: SpanEvent[] = [];
    const startMs = clock.now().getTime();
    const startTicksMs = clock.ticksMs();
    const nowMs = () => startMs + clock.ticksMs() - startTicksMs;
    const finish = (failure?: string) =>
      onFinished({
        ...{ name, context, attributes, events, failure, startMs },
        parentSpanId: parent?.spanId,
        endMs: nowMs(),
      });
    try {
      const result = await work({
        context,
        event: (what, about) => void events.push({ name: what, atMs: nowMs(), attributes: about }),
        during: (part, workOnIt) => during({ name: part, parent: context, attributes: {} }, workOnIt),
      });
      finish();
      return result;
    } catch (error) {
      finish(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }
  return { enabled: true, during };
}
