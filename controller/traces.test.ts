import { describe, expect, it, vi } from "vitest";
import { sandboxType } from "../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../api/kinds/sandbox-claim.ts";
import { createdByLabel, traceContextAnnotation } from "../api/rules/keys.ts";
import { recordingTracer } from "../test/support/fakes/recording-tracer.ts";
import { openClaimLab } from "../test/support/labs/claim-lab.ts";
import { openSandboxLab } from "../test/support/labs/sandbox-lab.ts";
import { waiting } from "../test/support/waiting.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const context = JSON.stringify({ traceparent: `00-${traceId}-${spanId}-01` });

const writtenContext = (annotations: Readonly<Record<string, string>> | undefined): { traceparent: string } =>
  JSON.parse(annotations?.[traceContextAnnotation] ?? "{}");

describe("the trace of a Sandbox", () => {
  it("is written on it when it has none, once, and later passes continue it", async () => {
    const { tracer, spans, named } = recordingTracer();
    await using lab = await openSandboxLab({ tracer });
    await lab.create();
    const sandbox = await lab.untilCondition("Ready", { status: "True" });
    await lab.untilQuiet();
    const { traceparent } = writtenContext(sandbox.metadata.annotations);
    const [first, ...later] = named("ReconcileSandbox");
    expect(traceparent).toBe(`00-${first?.traceId}-${first?.spanId}-01`);
    expect(first?.parentSpanId).toBeUndefined();
    expect(new Set(later.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([first?.spanId]));
    expect(new Set(spans.map((span) => span.traceId)).size).toBe(1);
    const writes = lab.client.calls.filter(({ verb, kind }) => verb === "patch" && kind === "Sandbox");
    expect(writes.filter(({ subresource }) => subresource === undefined)).toHaveLength(2); // it, and the Pod's name
  });

  it("has spans for the Pod and the volumes, and an event with the observed Pod", async () => {
    const { tracer, named } = recordingTracer();
    await using lab = await openSandboxLab({ tracer });
    await lab.create();
    await lab.untilCondition("Ready", { status: "True" });
    await lab.untilQuiet();
    const passes = named("ReconcileSandbox");
    expect(passes[0]?.attributes).toEqual({ "sandbox.name": "nova", "sandbox.namespace": "default" });
    for (const part of ["reconcilePod", "reconcilePVCs"]) {
      const parents = passes.map((pass) => pass.spanId);
      expect(named(part).every(({ parentSpanId = "" }) => parents.includes(parentSpanId))).toBe(true);
      expect(named(part).length).toBeGreaterThan(0);
    }
    const events = named("reconcilePod").flatMap((span) => span.events);
    expect(events[0]).toMatchObject({
      name: "NewPodStatusObserved",
      attributes: { "pod.Name": "nova", "pod.Phase": "Pending" },
    });
    expect(events.at(-1)).toMatchObject({
      name: "ExistingPodStatusObserved",
      attributes: { "pod.Name": "nova", "pod.Phase": "Running" },
    });
  });

  it("names a creator that is not known as unknown", async () => {
    const { tracer, named } = recordingTracer();
    await using lab = await openSandboxLab({ tracer });
    await lab.create({}, { labels: { [createdByLabel]: "somebody.else" } });
    await lab.untilCondition("Ready", { status: "True" });
    expect(named("ReconcileSandbox")[0]?.attributes).toMatchObject({ [createdByLabel]: "unknown" });
  });

  it("continues the one that its annotation names, and leaves the annotation", async () => {
    const { tracer, named } = recordingTracer();
    await using lab = await openSandboxLab({ tracer });
    await lab.create({}, { annotations: { [traceContextAnnotation]: context } });
    const sandbox = await lab.untilCondition("Ready", { status: "True" });
    expect(named("ReconcileSandbox")[0]).toMatchObject({ traceId, parentSpanId: spanId });
    expect(sandbox.metadata.annotations?.[traceContextAnnotation]).toBe(context);
  });

  it("begins anew where the annotation is malformed, which is left as it is", async () => {
    const { tracer, named } = recordingTracer();
    await using lab = await openSandboxLab({ tracer });
    await lab.create({}, { annotations: { [traceContextAnnotation]: "no JSON" } });
    const sandbox = await lab.untilCondition("Ready", { status: "True" });
    expect(named("ReconcileSandbox")[0]?.parentSpanId).toBeUndefined();
    expect(sandbox.metadata.annotations?.[traceContextAnnotation]).toBe("no JSON");
  });

  it("is never written where nothing is traced", async () => {
    await using lab = await openSandboxLab();
    await lab.create();
    const sandbox = await lab.untilCondition("Ready", { status: "True" });
    expect(sandbox.metadata.annotations).not.toHaveProperty([traceContextAnnotation]);
  });
});

describe("the trace of a claim", () => {
  it("leads on to the Sandbox that is made for it, and template and claim have spans", async () => {
    const { tracer, named } = recordingTracer();
    await using lab = await openClaimLab();
    await using _controller = await lab.startController({ tracer });
    await lab.template();
    await lab.pool(0);
    await lab.claim("task", {}, { labels: { [createdByLabel]: "go-client" } });
    await lab.untilReady("task");
    const claim = await lab.get(sandboxClaimType, "task");
    const { traceparent } = writtenContext(claim?.metadata.annotations);
    expect(writtenContext((await lab.get(sandboxType, "task"))?.metadata.annotations)).toEqual({ traceparent });
    // A pass before it may have waited for the template's network policy, and wrote nothing.
    const maker = named("ReconcileSandboxClaim").find(({ traceId }) => traceparent.includes(traceId));
    expect(maker?.attributes).toEqual({ [createdByLabel]: "go-client" });
    await vi.waitFor(() => expect(named("ReconcileSandboxTemplate").length).toBeGreaterThan(0), waiting);
    const ofSandbox = named("ReconcileSandbox").map((span) => span.traceId);
    expect(new Set(ofSandbox)).toEqual(new Set([maker?.traceId]));
  });

  it("leads on to the Sandbox too where nothing is noted on the claim", async () => {
    const { tracer, named } = recordingTracer();
    await using lab = await openClaimLab();
    await using _controller = await lab.startController({
      tracer,
      flags: ["--disable-claim-observability-annotations"],
    });
    await lab.template();
    await lab.pool(0);
    await lab.claim("task");
    await lab.untilReady("task");
    expect((await lab.get(sandboxClaimType, "task"))?.metadata.annotations).not.toHaveProperty([
      traceContextAnnotation,
    ]);
    const { traceparent } = writtenContext((await lab.get(sandboxType, "task"))?.metadata.annotations);
    const ids = named("ReconcileSandboxClaim").map((span) => `00-${span.traceId}-${span.spanId}-01`);
    expect(ids).toContain(traceparent);
  });
});
