import { describe, expect, it } from "vitest";
import { parseTraceHeaders, toTraceHeaders } from "./span-context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";

describe("the headers of a trace", () => {
  it("are read and written as W3C Trace Context has them", () => {
    const headers = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: "a=1,b=2" };
    expect(parseTraceHeaders(headers)).toEqual({ traceId, spanId, sampled: true, traceState: "a=1,b=2" });
    expect(toTraceHeaders({ traceId, spanId, sampled: true, traceState: "a=1,b=2" })).toEqual(headers);
    expect(parseTraceHeaders({ traceparent: `00-${traceId}-${spanId}-02` })?.sampled).toBe(false);
    expect(toTraceHeaders({ traceId, spanId, sampled: false }).traceparent).toMatch(/-00$/);
  });

  it("may be of a later version, which may have more to say", () => {
    expect(parseTraceHeaders({ traceparent: `01-${traceId}-${spanId}-01-more` })?.spanId).toBe(spanId);
  });

  it.each([
    undefined,
    7,
    "",
    "00",
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
  ])("are ignored when malformed: %s", (traceparent) => {
    expect(parseTraceHeaders({ traceparent })).toBeUndefined();
  });

  it("lose a state that is too long to be handed on", () => {
    const headers = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: "a".repeat(513) };
    expect(parseTraceHeaders(headers)).toEqual({ traceId, spanId, sampled: true });
  });
});
