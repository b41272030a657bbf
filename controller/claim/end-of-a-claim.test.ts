import { describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
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

describe("an expired claim that the API server does not let go", () => {
  const reasons = { 403: "Forbidden", 409: "Conflict", 422: "Invalid", 500: "InternalError" };
  const refusal = (code: keyof typeof reasons, text = "may not be deleted") =>
    new ApiError(code, { apiVersion: "v1", kind: "Status", code, reason: reasons[code], message: text });

  it.each([
    ["the claim", "Delete", "delete SandboxClaim", refusal(403)],
    ["the claim, with its Sandbox first", "DeleteForeground", "delete SandboxClaim", refusal(500)],
    ["its Sandbox", "Retain", "delete Sandbox", refusal(403)],
    ["its Sandbox, which keeps changing", "Retain", "delete Sandbox", refusal(409)],
    ["the read before its Sandbox", "Retain", "get SandboxClaim", refusal(500)],
  ] as const)("stays marked and is tried again later each time: %s", async (_, shutdownPolicy, refused, error) => {
    await using lab = await openClaimLab();
    let attempts = 0;
    let isRefused = true;
    const { calls } = await lab.startController({
      intercept: async (call, proceed) => {
        if (!isRefused || `${call.verb} ${call.kind}` !== refused) return proceed();
        attempts += 1;
        throw error;
      },
    });
    await lab.template();
    await lab.pool(0);
    await lab.claim("task");
    await lab.untilReady("task");
    await lab.patch(sandboxClaimType, "task", { spec: { lifecycle: { shutdownTime: inThePast, shutdownPolicy } } });
    const message = `Claim expired. Sandbox cleanup failed. Error seen: ${error.message}`;
    await lab.untilReady("task", { reason: "ClaimExpired", status: "False", message });
    const claimWrites = () => calls.filter(({ verb, kind }) => verb === "patch" && kind === "SandboxClaim").length;
    const [writesBefore, attemptsBefore] = [claimWrites(), attempts];
    await vi.waitFor(() => expect(attempts).toBeGreaterThanOrEqual(attemptsBefore + 4), waiting);
    expect(claimWrites()).toBe(writesBefore);
    await vi.waitFor(async () => {
      const about = (await lab.eventReasons()).filter((reason) => reason.startsWith("Claim"));
      expect(about.filter((reason) => reason !== "ClaimExpired Deleting")).toEqual([
        "ClaimExpired Claim Expired",
        "ClaimCleanupFailed Expiry",
      ]);
    }, waiting);
    isRefused = false;
    await vi.waitFor(async () => expect(await lab.get(sandboxType, "task")).toBeUndefined(), waiting);
  });

  it("is tried again as seldom as any rejected request where a policy rejects it as invalid", async () => {
    await using lab = await openClaimLab();
    const clock = new FakeClock(systemClock.now());
    let attempts = 0;
    await lab.startController({
      clock,
      intercept: async (call, proceed) => {
        if (call.verb !== "delete" || call.kind !== "SandboxClaim") return proceed();
        attempts += 1;
        throw refusal(422);
      },
    });
    await lab.template();
    await lab.pool(0);
    await lab.claim("task", { lifecycle: { shutdownTime: inThePast, shutdownPolicy: "Delete" } });
    for (let second = 0; second < 900; second += 20) {
      await clock.advance(20_000);
      await systemClock.sleep(2);
    }
    const message = "Claim expired. Sandbox cleanup failed. may not be deleted";
    await lab.untilReady("task", { reason: "ClaimExpired", message });
    expect(attempts).toBeGreaterThanOrEqual(4);
    expect(attempts).toBeLessThanOrEqual(10);
  });
});
