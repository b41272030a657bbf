import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { recordingTracer } from "../support/fakes/recording-tracer.ts";
import { openTraceCollector } from "../support/fakes/trace-collector.ts";
import { httpProgram, openActivatorWorld } from "../support/labs/activator-world.ts";
import { openMemoryApi } from "../support/memory-api.ts";
import { bareEnvironment, kubeconfigFor, packagesIn, tellLoaded } from "../support/program.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const clientSpanId = "00f067aa0ba902b7";
const client = { "X-Sandbox-ID": "nova", traceparent: `00-${traceId}-${clientSpanId}-01`, tracestate: "a=1" };
const main = fileURLToPath(new URL("../../activator/main.ts", import.meta.url));
/** The trace headers that the sandbox receives, one string for each line. */
const traceProgram = httpProgram(({ headersDistinct: { traceparent, tracestate } }, answer) =>
  answer.end(JSON.stringify({ traceparent, tracestate })),
);

describe("a traced request", () => {
  it("is a span of the client's trace with child spans for wait and proxying; the sandbox continues it", async () => {
    const { tracer, spans, named } = recordingTracer();
    await using world = await openActivatorWorld([], {}, { tracer });
    await world.asleep("nova", traceProgram);
    const seen = await (await fetch(`${world.activator.proxyUrl}/path?secret=1`, { headers: client })).json();
    await eventually(() => named("HTTP GET").length === 1);
    const [span] = named("HTTP GET");
    expect(span).toMatchObject({ traceId, parentSpanId: clientSpanId, events: [{ name: "woken" }] });
    expect(span?.attributes).toEqual({
      ...{ "http.method": "GET", "http.target": "/path", "http.status_code": 200 },
      ...{ "sandbox.id": "nova", "sandbox.namespace": "default" },
    });
    expect(seen).toEqual({ traceparent: [`00-${traceId}-${span?.spanId}-01`], tracestate: ["a=1"] });
    expect(spans.map(({ name, parentSpanId }) => [name, parentSpanId === span?.spanId])).toEqual([
      ["wait", true],
      ["proxy", true],
      ["HTTP GET", false],
    ]);
    expect(named("proxy")[0]?.events).toMatchObject([{ name: "first byte" }]);
  });

  it("begins a trace if the client's is malformed or absent, and records why it was rejected", async () => {
    const { tracer, named } = recordingTracer();
    await using world = await openActivatorWorld([], {}, { tracer });
    await world.awake("nova", traceProgram);
    const malformed = { ...client, traceparent: "00-1-2-3" };
    const seen = (await (await fetch(world.activator.proxyUrl, { headers: malformed })).json()) as object;
    await eventually(() => named("HTTP GET").length === 1);
    const [span] = named("HTTP GET");
    expect(span?.parentSpanId).toBeUndefined();
    expect(seen).toEqual({ traceparent: [`00-${span?.traceId}-${span?.spanId}-01`] });
    await fetch(world.activator.proxyUrl, { headers: { "X-Sandbox-ID": "nobody" }, method: "POST", body: "x" });
    await eventually(() => named("HTTP POST").length === 1);
    expect(named("HTTP POST")[0]?.attributes).toMatchObject({
      ...{ "sandbox.id": "nobody", "http.status_code": 502, "rouse.reason": "SandboxNotFound" },
    });
  });

  it("keeps the client's trace headers if nothing is traced", async () => {
    await using world = await openActivatorWorld();
    await world.awake("nova", traceProgram);
    const seen = await (await fetch(world.activator.proxyUrl, { headers: client })).json();
    expect(seen).toEqual({ traceparent: [client.traceparent], tracestate: ["a=1"] });
  });
});

describe("the activator as a program", { timeout: 60_000 }, () => {
  it.each([
    { flags: [], traced: true, setting: "names a collector" },
    { flags: ["--enable-tracing=false"], traced: false, setting: "names a collector, and a flag disables tracing" },
  ])("traces: $traced, if the environment $setting", async ({ flags, traced }) => {
    await using collector = await openTraceCollector();
    await using api = await openMemoryApi();
    await using folder = await kubeconfigFor(api);
    const quiet = ["--http-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--drain-settle=0s"];
    const args = [
      "--import",
      tellLoaded,
      main,
      "--authz-mode=allow-all",
      "--metrics-bind-address=",
      ...quiet,
      ...flags,
    ];
    const env = bareEnvironment({ KUBECONFIG: folder.kubeconfig, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url.href });
    const program = spawn(process.execPath, args, { env });
    let said = "";
    for (const stream of [program.stdout, program.stderr]) {
      stream.on("data", (chunk) => {
        said += chunk;
      });
    }
    const ended = once(program, "exit");
    try {
      await eventually(() => /"proxy":"([^"]+)"/.test(said), 40_000);
      const [, url = ""] = /"proxy":"([^"]+)"/.exec(said) ?? [];
      await (await fetch(`${url}/`, { headers: client })).text();
      await eventually(() => said.includes('"msg":"request"'));
      program.kill();
      expect(await ended).toEqual([0, null]);
    } finally {
      program.kill("SIGKILL");
    }
    expect(said.includes(`"trace_id":"${traceId}"`)).toBe(traced);
    const ofTracing = [...packagesIn(said)].filter((name) => /^@(opentelemetry|grpc)\/(?!api$)/.test(name ?? ""));
    expect(ofTracing.length > 0).toBe(traced);
    const spans = collector.spans.filter(({ traceId: id }) => id === traceId);
    expect(spans.filter(({ name }) => name === "HTTP GET").length).toBe(traced ? 1 : 0);
    expect(spans.every(({ service }) => service === "sandbox-router")).toBe(true);
  });
});
