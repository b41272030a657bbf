import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { podNameAnnotation, traceContextAnnotation } from "../../api/rules/keys.ts";
import { aSandbox } from "../support/builders/builders.ts";
import { openTraceCollector } from "../support/fakes/trace-collector.ts";
import { type MemoryApi, openMemoryApi } from "../support/memory-api.ts";
import { bareEnvironment, kubeconfigFor, packagesIn, tellLoaded } from "../support/program.ts";
import { waiting } from "../support/waiting.ts";

const main = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));
const nova = { namespace: "default", name: "nova" };

/** Runs the controller as a program until it has created a Pod, and returns the packages that it loaded. */
async function packagesLoaded(api: MemoryApi, flags: readonly string[], environment: Record<string, string>) {
  await using folder = await kubeconfigFor(api);
  const quiet = ["--enable-webhook=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"];
  const args = ["--import", tellLoaded, main, ...quiet, "--leader-elect=false", ...flags];
  const program = spawn(process.execPath, args, {
    env: bareEnvironment({ KUBECONFIG: folder.kubeconfig, ...environment }),
  });
  let said = "";
  program.stdout.on("data", (chunk) => {
    said += chunk;
  });
  program.stderr.resume();
  const ended = once(program, "exit");
  try {
    await api.client.create(sandboxType, { ...aSandbox(), metadata: nova });
    await vi.waitFor(
      async () => {
        const { metadata } = await api.client.get(sandboxType, nova);
        expect(metadata.annotations).toHaveProperty([podNameAnnotation]);
      },
      { ...waiting, timeout: 40_000 },
    );
    program.kill();
    expect(await ended).toEqual([0, null]);
  } finally {
    program.kill("SIGKILL");
  }
  return packagesIn(said);
}

describe("the controller as a program", { timeout: 60_000 }, () => {
  it("exports its traces to the collector of the environment if tracing is enabled", async () => {
    await using collector = await openTraceCollector();
    await using api = await openMemoryApi();
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url.href };
    const packages = await packagesLoaded(api, ["--enable-tracing"], environment);
    expect(packages).toContain("@opentelemetry/sdk-trace");
    const [first] = collector.spans.filter(({ name }) => name === "ReconcileSandbox");
    expect(first).toMatchObject({ service: "agent-sandbox-controller" });
    const { metadata } = await api.client.get(sandboxType, nova);
    expect(metadata.annotations?.[traceContextAnnotation]).toContain(first?.traceId);
  });

  it("without tracing and certificates of its own loads no package for them, and writes no annotation", async () => {
    await using collector = await openTraceCollector();
    await using api = await openMemoryApi();
    const packages = await packagesLoaded(api, [], { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url.href });
    expect(packages).toContain("pino");
    // `prom-client` depends on OpenTelemetry's API package, which does nothing by itself.
    const ofTracing = [...packages].filter((name) => /^@(opentelemetry|grpc)\/(?!api$)/.test(name ?? ""));
    expect(ofTracing).toEqual([]);
    expect(packages).not.toContain("@peculiar/x509");
    expect(collector.calls).toBe(0);
    const { metadata } = await api.client.get(sandboxType, nova);
    expect(metadata.annotations).not.toHaveProperty([traceContextAnnotation]);
  });
});
