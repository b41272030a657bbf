import { describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { annotationBytesMax } from "../../api/rules/annotation-limit.ts";
import { podNameAnnotation, traceContextAnnotation } from "../../api/rules/keys.ts";
import { noTracer, type Span, type Tracer } from "../../lib/tracing/tracer.ts";
import { openSandboxLab } from "../support/labs/sandbox-lab.ts";
import { waiting } from "../support/waiting.ts";

const full = { annotations: { a: "x".repeat(annotationBytesMax - 1) } };
const span: Span = {
  headers: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
  event: () => {},
  during: (_, work) => work(span),
};
const tracer: Tracer = { ...noTracer, enabled: true, during: (_, work) => work(span) };

describe("a sandbox whose author has left no room for annotations", () => {
  it.each([
    { how: "without traces", traced: {}, notes: [podNameAnnotation] },
    { how: "with traces", traced: { tracer }, notes: [podNameAnnotation, traceContextAnnotation] },
  ])("runs, and each annotation that is missing is tried once and reported, $how", async ({ traced, notes }) => {
    await using lab = await openSandboxLab(traced);
    await lab.create({}, full);
    await lab.untilCondition("Ready", { status: "True" });
    expect(await lab.find(podType)).toBeDefined();
    await vi.waitFor(async () => {
      const reasons = await lab.eventReasons();
      expect(reasons.filter((reason) => reason === "AnnotationNotWritten")).toHaveLength(notes.length);
    }, waiting);
  });

  it("expires when its time has come", async () => {
    await using lab = await openSandboxLab({ tracer });
    await lab.create({ shutdownTime: new Date(Date.now() + 1_500).toISOString() }, full);
    await lab.untilCondition("Ready", { reason: "SandboxExpired" });
  });

  it("gets them as soon as there is room", async () => {
    await using lab = await openSandboxLab({ tracer });
    await lab.create({}, full);
    await lab.untilCondition("Ready", { status: "True" });
    await lab.client.patch(
      sandboxType,
      { namespace: "default", name: "nova" },
      { type: "merge", body: { metadata: { annotations: { a: null } } } },
    );
    await vi.waitFor(async () => {
      const { metadata } = (await lab.find(sandboxType)) ?? {};
      expect(metadata?.annotations).toHaveProperty([podNameAnnotation], "nova");
      expect(metadata?.annotations).toHaveProperty([traceContextAnnotation]);
    }, waiting);
  });
});
