import { describe, expect, it, vi } from "vitest";
import { eventType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { annotationBytes, annotationBytesMax } from "../../api/rules/annotation-limit.ts";
import {
  assignedSandboxAnnotation,
  assignedSandboxLabel,
  claimFirstReadyAtAnnotation,
  controllerFirstObservedAtAnnotation,
  launchTypeLabel,
  traceContextAnnotation,
} from "../../api/rules/keys.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { controlledBy } from "../../test/support/builders/builders.ts";
import type { InterceptedCall } from "../../test/support/fakes/intercepted-client.ts";
import { openClaimLab, readyCondition } from "../../test/support/labs/claim-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

const overloaded = () => new ApiError(500, { apiVersion: "v1", kind: "Status", message: "too much to do" });
const isNote = ({ verb, kind, subresource }: InterceptedCall) =>
  verb === "patch" && kind === "SandboxClaim" && subresource === undefined;

/** A claim that has the sandbox `warm-1`, as an earlier controller left it, without annotations. */
async function openBoundLab(metadata: object) {
  const lab = await openClaimLab({ kubelet: false });
  await lab.template();
  await lab.pool(1);
  await lab.spare("warm-1");
  const claim = await lab.claim("task", {}, metadata);
  await lab.patch(sandboxType, "warm-1", { metadata: { ownerReferences: [controlledBy(claim)] } });
  return lab;
}

describe("an annotation of a claim that cannot be written", () => {
  it("does not affect the claim: a ready claim stays ready, and the next reconcile writes it", async () => {
    await using lab = await openBoundLab({});
    const status = { sandbox: { name: "warm-1" }, conditions: [readyCondition] };
    await lab.patch(sandboxClaimType, "task", { status }, "status");
    let left = 2;
    await using claims = await lab.startClaims({
      intercept: (call, proceed) => (isNote(call) && left-- > 0 ? Promise.reject(overloaded()) : proceed()),
    });
    await vi.waitFor(async () => {
      const { metadata } = (await lab.get(sandboxClaimType, "task")) ?? {};
      expect(metadata?.annotations).toHaveProperty([controllerFirstObservedAtAnnotation]);
    }, waiting);
    const written = claims.calls.filter(({ subresource }) => subresource === "status").map(({ body }) => body);
    expect(JSON.stringify(written)).not.toContain("ReconcilerError");
  });

  it("does not keep a claim from the sandbox that an older release gave it, by a label", async () => {
    const annotations = { [controllerFirstObservedAtAnnotation]: "2026-01-01T00:00:00.000000001Z" };
    await using lab = await openBoundLab({ annotations, labels: { [assignedSandboxLabel]: "warm-1" } });
    const refused = new Set<string>();
    await using _claims = await lab.startClaims({
      intercept: (call, proceed) => {
        const moves = JSON.stringify(call.body ?? {}).includes(`"${assignedSandboxLabel}":null`);
        if (!moves) return proceed();
        refused.add(call.name);
        return Promise.reject(overloaded());
      },
    });
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-1");
    expect([...refused]).toEqual(["task"]);
  });
});

/** Leaves this number of bytes for annotations. */
const fill = (bytesLeft: number) => ({ annotations: { a: "x".repeat(annotationBytesMax - bytesLeft - 1) } });

describe("a claim whose author has left no room for annotations", () => {
  it("gets a new sandbox, and an event that names what could not be written", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.warm(1);
    const claim = await lab.claim("full", {}, fill(0));
    const { status } = await lab.untilReady("full", { status: "True" });
    expect((await lab.sandboxesOf(claim)).map(({ metadata }) => metadata.name)).toEqual([status?.sandbox?.name]);
    await vi.waitFor(
      async () => expect(await lab.eventReasons()).toContain("AnnotationNotWritten Reconciling"),
      waiting,
    );
    expect(await lab.get(sandboxType, status?.sandbox?.name ?? "")).toMatchObject({
      metadata: { labels: { [launchTypeLabel]: "cold" } },
    });
  });

  it("gets a pool member if the assignment alone has room", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.warm(1);
    await lab.claim("tight", {}, fill(assignedSandboxAnnotation.length + 15));
    const { status } = await lab.untilReady("tight", { status: "True" });
    expect(await lab.get(sandboxType, status?.sandbox?.name ?? "")).toMatchObject({
      metadata: { labels: { [launchTypeLabel]: "warm" } },
    });
  });

  it("does not fail again and again because of the time when it became ready", async () => {
    await using lab = await openClaimLab();
    await using controller = await lab.startController();
    await lab.warm(1);
    await lab.claim("full", {}, fill(0));
    await lab.untilReady("full", { status: "True" });
    await vi.waitFor(async () => {
      const { items } = await lab.client.list(eventType, { namespace: "default" });
      const notes = items.filter(({ reason }) => reason === "AnnotationNotWritten").map(({ note }) => note);
      expect(notes.join()).toContain(claimFirstReadyAtAnnotation);
    }, waiting);
    expect(await controller.metrics()).toMatch(/workqueue_retries_total\{name="sandboxclaim"[^}]*\} 0/);
  });
});

describe("a sandbox whose annotations are full", () => {
  it("is given to a claim with a trace context, without it", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    await lab.template();
    await lab.pool(1);
    const spare = await lab.spare("warm-1");
    const bytesLeft = annotationBytes(spare.metadata.annotations ?? {});
    await lab.patch(sandboxType, "warm-1", { metadata: fill(bytesLeft) });
    await using _claims = await lab.startClaims();
    await lab.claim("task", {}, { annotations: { [traceContextAnnotation]: "{}" } });
    expect((await lab.untilReady("task", { status: "True" })).status?.sandbox?.name).toBe("warm-1");
  });
});

it("a claim with a huge trace context gets its sandbox", async () => {
  await using lab = await openClaimLab();
  await using _controller = await lab.startController();
  await lab.template();
  await lab.pool(0);
  const claim = await lab.claim("task", {}, { annotations: { [traceContextAnnotation]: "x".repeat(262_000) } });
  await lab.untilReady("task", { status: "True" });
  const [sandbox] = await lab.sandboxesOf(claim);
  expect(sandbox?.metadata.annotations).not.toHaveProperty([traceContextAnnotation]);
});

it("the time when a claim was first seen is written on it also when it cannot get a sandbox", async () => {
  await using lab = await openClaimLab({ kubelet: false });
  await using claims = await lab.startClaims();
  await lab.claim("task", { additionalPodMetadata: { labels: { unqualified: "1" } } });
  const { metadata } = await lab.untilReady("task", { reason: "InvalidMetadata" });
  expect(metadata.annotations).toHaveProperty([controllerFirstObservedAtAnnotation]);
  expect(claims.calls.filter(isNote)).toHaveLength(1);
});
