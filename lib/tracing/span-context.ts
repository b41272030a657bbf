/** Which trace a span belongs to and which span it is, as W3C Trace Context has it. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether whoever began the trace wants it recorded. */
  readonly sampled: boolean;
  /** What others on the way have added, handed on as it came. */
  readonly traceState?: string;
}

/** The propagation headers of W3C Trace Context. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}

// Of a later version only the beginning is known (W3C Trace Context 1, 4.3); version ff is forbidden.
const traceParentForm = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
// The least that everybody has to hand on (3.3.1.1); one that is longer helps nobody.
const longestTraceState = 512;

/** Undefined for headers that are malformed or have none of our names. */
export function parseTraceHeaders(headers: {
  readonly traceparent?: unknown;
  readonly tracestate?: unknown;
}): SpanContext | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] =
    traceParentForm.exec(typeof headers.traceparent === "string" ? headers.traceparent.trim() : "") ?? [];
  if (version === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  if (version === "00" && more !== undefined) return undefined;
  const state = typeof headers.tracestate === "string" ? headers.tracestate.trim() : "";
  return {
    traceId,
    spanId,
    sampled: (Number.parseInt(flags, 16) & 1) === 1,
    ...(state !== "" && state.length <= longestTraceState && { traceState: state }),
  };
}

export const toTraceHeaders = ({ traceId, spanId, sampled, traceState }: SpanContext): TraceHeaders => ({
  traceparent: `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`,
  ...(traceState !== undefined && { tracestate: traceState }),
});
