import { describe, expect, it, vi } from "vitest";
import { findCondition } from "../../api/conditions.ts";
import { podType } from "../../api/core.ts";
import { sandboxType } from "../../api/sandbox.ts";
import { sandboxClaimType } from "../../api/sandbox-claim.ts";
import { openClaimLab } from "../../test/support/claim-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

const inThePast = "2026-01-01T00:00:00Z";

describe("the end of a claim", () => {
  it("C82, C83, C84: is told first, then its sandbox goes and the claim stays", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.warm(1);
    await lab.claim("task");
    await lab.untilReady("task");
    await lab.patch(sandboxClaimType, "task", { spec: { lifecycle: { shutdownTime: inThePast } } });
    const message = "Claim expired. Sandbox cleanup initiated.";
    await lab.untilReady("task", { reason: "ClaimExpired", status: "False", message });
    await vi.waitFor(async () => {
      const claim = await lab.get(sandboxClaimType, "task");
      expect(claim?.status).not.toHaveProperty("sandbox");
      expect(claim && (await lab.sandboxesOf(claim))).toEqual([]);
    }, waiting);
    await vi.waitFor(async () => {
      expect(await lab.eventReasons()).toEqual(["SandboxAdopted Adoption", "ClaimExpired Claim Expired"]);
    }, waiting);
  });

  it("C86: takes the claim with it under Delete", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.template();
    await lab.pool(0);
    await lab.claim("task", { lifecycle: { shutdownTime: inThePast, shutdownPolicy: "Delete" } });
    await vi.waitFor(async () => expect(await lab.get(sandboxClaimType, "task")).toBeUndefined(), waiting);
    await vi.waitFor(async () => {
      expect(await lab.eventReasons()).toEqual(["ClaimExpired Claim Expired", "ClaimExpired Deleting"]);
    }, waiting);
  });

  it("C90, C93: comes with the end of its Pod when it is to last no longer", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.template();
    await lab.pool(0);
    await lab.claim("task", { lifecycle: { ttlSecondsAfterFinished: 0 } });
    await lab.untilReady("task");
    await lab.patch(podType, "task", { status: { phase: "Succeeded" } }, "status");
    const claim = await lab.untilReady("task", { reason: "ClaimExpired" });
    expect(findCondition(claim.status?.conditions, "Finished")).toMatchObject({
      status: "True",
      reason: "PodSucceeded",
    });
    await vi.waitFor(async () => expect(await lab.get(sandboxType, "task")).toBeUndefined(), waiting);
    const kept = await lab.get(sandboxClaimType, "task");
    expect(kept?.status?.conditions?.map(({ type }) => type)).toEqual(["Finished", "Ready"]);
  });
});
