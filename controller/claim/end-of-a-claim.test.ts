import { describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { openClaimLab } from "../../test/support/labs/claim-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

const inThePast = "2026-01-01T00:00:00Z";

describe("the end of a claim", () => {
  it("is reported first, then its sandbox is deleted and the claim stays", async () => {
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

  it("does not come at a malformed time, and the malformed time is reported", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.template();
    await lab.pool(0);
    await lab.claim("task", { lifecycle: { shutdownTime: "2026-01-01T00:00:00+24:00" } });
    await lab.untilReady("task");
    await vi.waitFor(async () => expect(await lab.eventReasons()).toContain("UnreadableTime Reconciling"), waiting);
  });

  it("takes the claim with it under Delete", async () => {
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

  it("comes with the end of its Pod when it is to last no longer", async () => {
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
