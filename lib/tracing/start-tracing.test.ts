import { execFile } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { openTraceCollector } from "../../test/support/fakes/trace-collector.ts";
import { waiting } from "../../test/support/waiting.ts";
import { createLogger, silentLogger } from "../log/log.ts";
import { FakeClock } from "../time/clock.ts";
import { startTracing } from "./start-tracing.ts";
import type { Tracer } from "./tracer.ts";

const origin = { service: "tested", version: "1.2.3" };
const batch = 512;
const start = (name: string) => ({ name, parent: undefined, attributes: {} });

function tracingTo(collector: URL, log = silentLogger) {
  const clock = new FakeClock();
  return { clock, tracing: startTracing({ collector, origin, clock, log }) };
}

/** This number of spans; whole batches of them are sent at once. */
async function record(tracer: Tracer, count: number, name = "work"): Promise<void> {
  for (let at = 0; at < count; at += 1) await tracer.during(start(name), async () => {});
}

describe("tracing", () => {
  it("sends spans to a collector, with their parts, events, attributes, times and failures", async () => {
    await using collector = await openTraceCollector();
    const { clock, tracing } = tracingTo(collector.url);
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const spanId = "00f067aa0ba902b7";
    const parent = tracing.tracer.parentIn({ traceparent: `00-${traceId}-${spanId}-01` });
    const work = tracing.tracer.during({ name: "whole", parent, attributes: { "a.name": "ü" } }, async (span) => {
      span.event("seen", { what: "x".repeat(200) });
      await clock.sleep(2_000);
      await span.during("part", () => Promise.reject(new Error("broken")));
    });
    work.catch(() => {});
    const beganNs = BigInt(clock.now().getTime()) * 1_000_000n;
    await clock.advance(2_000);
    await expect(work).rejects.toThrow("broken");
    await tracing[Symbol.asyncDispose]();
    const [part, whole] = collector.spans;
    expect(whole).toMatchObject({ service: "tested", name: "whole", traceId, parentSpanId: spanId, startNs: beganNs });
    expect(whole).toMatchObject({ attributes: { "a.name": "ü" }, failure: "broken" });
    expect(whole?.events).toEqual([{ name: "seen", attributes: { what: "x".repeat(200) } }]);
    expect((whole?.endNs ?? 0n) - (whole?.startNs ?? 0n)).toBe(2_000_000_000n);
    expect(part).toMatchObject({ name: "part", traceId, parentSpanId: whole?.spanId, failure: "broken" });
    expect([collector.calls, collector.spans.length]).toEqual([1, 2]);
  });

  it("sends a batch as soon as it is full, and the rest when it ends", async () => {
    await using collector = await openTraceCollector();
    const { tracing } = tracingTo(collector.url);
    await record(tracing.tracer, 600);
    await vi.waitFor(() => expect(collector.spans).toHaveLength(batch), waiting);
    await tracing[Symbol.asyncDispose]();
    expect([collector.calls, collector.spans.length]).toEqual([2, 600]);
  });

  it("retries after temporary failures of the collector, and drops after permanent ones", async () => {
    const statuses = [14, 3];
    await using collector = await openTraceCollector((call) => statuses[call - 1] ?? 0);
    const { clock, tracing } = tracingTo(collector.url);
    await using running = tracing;
    const until = (calls: number) =>
      vi.waitFor(async () => {
        await clock.advance(1_000);
        expect(collector.calls).toBe(calls);
      }, waiting);
    await record(running.tracer, batch, "poison");
    await until(1);
    await until(2);
    await record(running.tracer, batch, "fine");
    await until(3);
    await vi.waitFor(() => expect(collector.spans).toHaveLength(batch), waiting);
    expect(new Set(collector.spans.map(({ name }) => name))).toEqual(new Set(["fine"]));
  });

  it("keeps one batch in flight and four waiting while the collector is away, and counts dropped spans", async () => {
    const lines: string[] = [];
    const log = createLogger("tested", "info", { write: (line) => void lines.push(line) });
    let away = true;
    await using collector = await openTraceCollector(() => (away ? 14 : 0));
    const { clock, tracing } = tracingTo(collector.url, log);
    await using running = tracing;
    await record(running.tracer, 4_000);
    await vi.waitFor(() => expect(collector.calls).toBe(1), waiting);
    away = false;
    await vi.waitFor(async () => {
      await clock.advance(1_000);
      expect(collector.spans).toHaveLength(5 * batch);
    }, waiting);
    await record(running.tracer, 1);
    const messages = ["trace export failed; retrying", "trace export recovered", "OpenTelemetry warning"];
    expect(lines.map(messageOf)).toEqual(messages);
    expect(lines.at(-1)).toContain("Dropped 1440 spans");
  });

  it("says in the log that a batch with a permanent failure is not retried", async () => {
    const lines: string[] = [];
    const log = createLogger("tested", "info", { write: (line) => void lines.push(line) });
    await using collector = await openTraceCollector(() => 3);
    const { tracing } = tracingTo(collector.url, log);
    await using running = tracing;
    await record(running.tracer, batch);
    await vi.waitFor(() => expect(lines.at(0)).toContain('"retried":false'), waiting);
  });

  it("gives up a batch after a minute", async () => {
    await using collector = await openTraceCollector((call) => (call < 6 ? 14 : 0));
    const { clock, tracing } = tracingTo(collector.url);
    await using running = tracing;
    await record(running.tracer, batch, "old");
    await vi.waitFor(() => expect(collector.calls).toBe(1), waiting);
    await record(running.tracer, batch, "new");
    await vi.waitFor(async () => {
      await clock.advance(1_000);
      expect(collector.spans.map(({ name }) => name)).toContain("new");
    }, waiting);
    expect(collector.spans.map(({ name }) => name)).not.toContain("old");
  });
});

describe.concurrent("a collector that cannot be reached delays neither the work nor the end of a process", () => {
  it.each([
    ["takes calls and never answers", () => openTraceCollector(() => undefined)],
    ["takes connections and says nothing", openMuteServer],
    ["does not listen", openClosedCollector],
  ])(
    "when it %s",
    async (_, open) => {
      await using collector = await open();
      const arguments_ = ["--input-type=module-typescript", "--eval", program, collector.url.href];
      const { stdout, stderr } = await run(process.execPath, arguments_, { cwd: repository, timeout: 50_000 });
      const { workMs, endMs } = JSON.parse(stdout);
      // Waiting for the eight batches would take 20 seconds, and at the end a minute.
      expect(workMs).toBeLessThan(10_000);
      expect(endMs).toBeLessThan(10_000);
      expect(stderr.trim().split("\n").map(messageOf)).toEqual(["trace export failed; these spans are dropped"]);
    },
    60_000,
  );
});

const run = promisify(execFile);
const repository = join(import.meta.dirname, "../..");
const messageOf = (line: string): unknown => JSON.parse(line).msg;

/** Creates more spans than can wait, exits, and prints the duration of each phase. */
const program = `
  import { systemClock } from "./lib/time/clock.ts";
  import { createLogger } from "./lib/log/log.ts";
  import { startTracing } from "./lib/tracing/start-tracing.ts";

  const options = { origin: { service: "tested", version: "1" }, clock: systemClock, log: createLogger("tested") };
  const tracing = startTracing({ collector: new URL(process.argv.at(-1)), ...options });
  const beganMs = systemClock.ticksMs();
  const start = { name: "work", parent: undefined, attributes: {} };
  for (let at = 0; at < 3_000; at += 1) await tracing.tracer.during(start, async () => {});
  const workedMs = systemClock.ticksMs();
  process.on("exit", () => {
    const times = { workMs: workedMs - beganMs, endMs: systemClock.ticksMs() - workedMs };
    process.stdout.write(JSON.stringify(times));
  });
  await tracing[Symbol.asyncDispose]();`;

async function openMuteServer() {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    url: new URL(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

async function openClosedCollector() {
  const collector = await openTraceCollector();
  await collector[Symbol.asyncDispose]();
  return collector;
}
