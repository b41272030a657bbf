import { describe, expect, it, vi } from "vitest";
import { openTraceCollector } from "../../test/support/trace-collector.ts";
import { FakeClock, systemClock } from "../clock.ts";
import { silentLogger } from "../log.ts";
import { collectorOf, startTracing } from "./start-tracing.ts";
import { noTracer, type Tracer } from "./tracer.ts";

const waiting = { timeout: 5_000, interval: 5 };
const origin = { service: "tested", version: "1.2.3" };
const start = (name: string) => ({ name, parent: undefined, attributes: {} });
const aSpan = (tracer: Tracer, name = "work") => tracer.during(start(name), async () => {});

function tracingTo(collector: URL, clock = new FakeClock()) {
  return { clock, tracing: startTracing({ collector, origin, clock, log: silentLogger }) };
}

describe("tracing", () => {
  it("sends spans to a collector in batches, with their parts, events, attributes and failures", async () => {
    await using collector = await openTraceCollector();
    const { clock, tracing } = tracingTo(collector.url);
    await using running = tracing;
    const parent = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", sampled: true };
    const work = running.tracer.during({ name: "whole", parent, attributes: { "a.name": "ü" } }, async (span) => {
      span.event("seen", { what: "x".repeat(200) });
      await clock.sleep(2_000);
      await span.during("part", () => Promise.reject(new Error("broken")));
    });
    work.catch(() => {});
    await clock.advance(2_000);
    await expect(work).rejects.toThrow("broken");
    await clock.advance(5_000);
    await vi.waitFor(() => expect(collector.spans).toHaveLength(2), waiting);
    const [part, whole] = collector.spans;
    expect(whole).toMatchObject({ service: "tested", name: "whole", traceId: parent.traceId });
    expect(whole).toMatchObject({ parentSpanId: parent.spanId, attributes: { "a.name": "ü" }, failure: "broken" });
    expect(whole?.events).toEqual([{ name: "seen", attributes: { what: "x".repeat(200) } }]);
    expect((whole?.endNs ?? 0n) - (whole?.startNs ?? 0n)).toBe(2_000_000_000n);
    expect(part).toMatchObject({ name: "part", traceId: parent.traceId, parentSpanId: whole?.spanId });
    expect(collector.calls).toBe(1);
  });

  it("records nothing of a trace that its maker does not want recorded, but hands it on", async () => {
    await using collector = await openTraceCollector();
    const { clock, tracing } = tracingTo(collector.url);
    await using running = tracing;
    const parent = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", sampled: false };
    const context = await running.tracer.during({ ...start("quiet"), parent }, async (span) => span.context);
    expect(context).toMatchObject({ traceId: parent.traceId, sampled: false });
    await aSpan(running.tracer, "loud");
    await clock.advance(5_000);
    await vi.waitFor(() => expect(collector.spans.map(({ name }) => name)).toEqual(["loud"]), waiting);
  });

  it("costs nothing where it is off: no context, no record", async () => {
    expect(await noTracer.during(start("work"), async (span) => span.context)).toBeUndefined();
    expect(noTracer.enabled).toBe(false);
  });

  it("sends what waits when it ends", async () => {
    await using collector = await openTraceCollector();
    const { tracing } = tracingTo(collector.url);
    for (let at = 0; at < 600; at += 1) await aSpan(tracing.tracer);
    await tracing[Symbol.asyncDispose]();
    expect([collector.calls, collector.spans.length]).toEqual([2, 600]);
  });

  it("tries again what the collector could not take for now, and drops what it never will", async () => {
    const statuses = [14, 3];
    await using collector = await openTraceCollector((call) => statuses[call - 1] ?? 0);
    const { clock, tracing } = tracingTo(collector.url);
    await using running = tracing;
    const until = (calls: number) =>
      vi.waitFor(async () => {
        await clock.advance(1_000);
        expect(collector.calls).toBe(calls);
      }, waiting);
    await aSpan(running.tracer, "poison");
    await until(1);
    await until(2);
    await aSpan(running.tracer, "fine");
    await until(3);
    await vi.waitFor(() => expect(collector.spans.map(({ name }) => name)).toEqual(["fine"]), waiting);
  });

  it("keeps a limited number of spans while nobody takes them", async () => {
    let away = true;
    await using collector = await openTraceCollector(() => (away ? 14 : 0));
    const { clock, tracing } = tracingTo(collector.url);
    await using running = tracing;
    for (let at = 0; at < 3_000; at += 1) await aSpan(running.tracer);
    await clock.advance(5_000);
    await vi.waitFor(() => expect(collector.calls).toBe(1), waiting);
    away = false;
    await vi.waitFor(async () => {
      await clock.advance(1_000);
      expect(collector.spans).toHaveLength(2_048);
    }, waiting);
  });

  it("lets nobody wait for a collector that takes calls and never answers: neither the work nor the end", async () => {
    await using collector = await openTraceCollector(() => undefined);
    const tracing = startTracing({ collector: collector.url, origin, clock: systemClock, log: silentLogger });
    await aSpan(tracing.tracer);
    const beganMs = systemClock.ticksMs();
    await tracing[Symbol.asyncDispose]();
    expect(systemClock.ticksMs() - beganMs).toBeLessThan(4_500);
  });

  it("ends at once where no collector listens", async () => {
    const collector = await openTraceCollector();
    await collector[Symbol.asyncDispose]();
    const tracing = startTracing({ collector: collector.url, origin, clock: systemClock, log: silentLogger });
    await aSpan(tracing.tracer);
    const beganMs = systemClock.ticksMs();
    await tracing[Symbol.asyncDispose]();
    expect(systemClock.ticksMs() - beganMs).toBeLessThan(1_000);
  });
});

describe("where the collector is", () => {
  const at = (OTEL_EXPORTER_OTLP_ENDPOINT?: string, OTEL_EXPORTER_OTLP_INSECURE?: string) =>
    collectorOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_INSECURE }).href;

  it("is said by the environment, and else on this machine", () => {
    expect(at("http://collector.observability:4317")).toBe("http://collector.observability:4317/");
    expect(at("https://collector:4317", "true")).toBe("https://collector:4317/");
    expect(at("collector:4317", "true")).toBe("http://collector:4317/");
    expect(at("collector:4317")).toBe("https://collector:4317/");
    expect(at()).toBe("https://localhost:4317/");
  });

  it.each(["ftp://collector", "http://", "not an address"])("is refused when it is no address: %s", (text) => {
    expect(() => at(text)).toThrow("is not the address of a collector");
  });
});
