import { describe, expect, it, vi } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { assignedSandboxLabel, controllerFirstObservedAtAnnotation } from "../../api/rules/keys.ts";
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

it("the time when a claim was first seen is written on it also when it cannot get a sandbox", async () => {
  await using lab = await openClaimLab({ kubelet: false });
  await using claims = await lab.startClaims();
  await lab.claim("task", { additionalPodMetadata: { labels: { unqualified: "1" } } });
  const { metadata } = await lab.untilReady("task", { reason: "InvalidMetadata" });
  expect(metadata.annotations).toHaveProperty([controllerFirstObservedAtAnnotation]);
  expect(claims.calls.filter(isNote)).toHaveLength(1);
});
