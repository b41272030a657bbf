import { describe, expect, it } from "vitest";
import { recordingTracer } from "../../test/support/fakes/recording-tracer.ts";
import { noTracer, type Tracer } from "./tracer.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";

/** The headers that a span with these parent headers propagates. */
const continued = ({ parentIn, during }: Tracer, headers: object) =>
  during({ name: "work", parent: parentIn(headers), attributes: {} }, async (span) => span.headers);

describe("the headers of a trace", () => {
  it("are read and written as W3C Trace Context has them", async () => {
    const { tracer, spans } = recordingTracer();
    const headers = await continued(tracer, { traceparent: `00-${traceId}-${spanId}-01`, tracestate: "a=1,b=2" });
    expect(headers).toEqual({ traceparent: `00-${traceId}-${spans[0]?.spanId}-01`, tracestate: "a=1,b=2" });
    expect(spans).toMatchObject([{ traceId, parentSpanId: spanId }]);
  });

  it("lead on, but are not recorded, when their maker wants it so", async () => {
    const { tracer, spans } = recordingTracer();
    const headers = await continued(tracer, { traceparent: `00-${traceId}-${spanId}-02` });
    expect(headers?.["traceparent"]).toMatch(new RegExp(`^00-${traceId}-(?!${spanId})[0-9a-f]{16}-00$`));
    expect(spans).toEqual([]);
  });

  it("may be of a later version, which may have more to say", () => {
    expect(recordingTracer().tracer.parentIn({ traceparent: `01-${traceId}-${spanId}-01-more` })).toBeDefined();
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
    expect(recordingTracer().tracer.parentIn({ traceparent })).toBeUndefined();
  });

  it("lose a state that is too long to be handed on", async () => {
    const { tracer, spans } = recordingTracer();
    const tracestate = `a=${"1".repeat(512)}`;
    const headers = await continued(tracer, { traceparent: `00-${traceId}-${spanId}-01`, tracestate });
    expect(headers).toEqual({ traceparent: `00-${traceId}-${spans[0]?.spanId}-01` });
  });

  it("are absent without a trace", async () => {
    expect(await continued(noTracer, { traceparent: `00-${traceId}-${spanId}-01` })).toBeUndefined();
    expect(noTracer.enabled).toBe(false);
  });
});
