import { expect, it, vi } from "vitest";
import { eventType, podType } from "../../../api/kinds/core.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { openClaimLab } from "../../../test/support/labs/claim-lab.ts";
import { waiting } from "../../../test/support/waiting.ts";

const namespace = "default";
const denied = new ApiError(403, {
  ...{ apiVersion: "v1", kind: "Status", code: 403, reason: "Forbidden" },
  message: "admission webhook denied the request: it is to be kept",
});

it.each([
  ["its Pod", "Retain", "Pod"],
  ["its Service", "Retain", "Service"],
  ["the Sandbox itself", "Delete", "Sandbox"],
] as const)("an expired Sandbox tells once that %s could not be deleted (%s)", async (_, shutdownPolicy, kind) => {
  await using lab = await openClaimLab();
  let attempts = 0;
  let isKept = true;
  await lab.startController({
    intercept: async (call, proceed) => {
      if (!isKept || call.verb !== "delete" || call.kind !== kind) return proceed();
      attempts += 1;
      throw denied;
    },
  });
  const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };
  const spec = { podTemplate, service: true, shutdownPolicy };
  await lab.client.create(sandboxType, { metadata: { namespace, name: "nova" }, spec });
  const ready = async () => findCondition((await lab.get(sandboxType, "nova"))?.status?.conditions, "Ready");
  await vi.waitFor(async () => expect(await ready()).toMatchObject({ status: "True" }), waiting);
  await lab.patch(sandboxType, "nova", { spec: { shutdownTime: "2026-01-01T00:00:00Z" } });
  const message = `Sandbox has expired, and its cleanup failed: ${denied.message}`;
  await vi.waitFor(
    async () => expect(await ready()).toMatchObject({ status: "False", reason: "SandboxExpired", message }),
    waiting,
  );
  const before = attempts;
  await vi.waitFor(() => expect(attempts).toBeGreaterThanOrEqual(before + 3), waiting);
  const told = async () =>
    (await lab.client.list(eventType, { namespace })).items.filter(({ reason }) => reason === "SandboxCleanupFailed");
  await vi.waitFor(
    async () => expect(await told()).toMatchObject([{ type: "Warning", note: message, regarding: { name: "nova" } }]),
    waiting,
  );
  isKept = false;
  await vi.waitFor(async () => {
    expect(await lab.get(podType, "nova")).toBeUndefined();
    expect((await ready())?.message).toBe(shutdownPolicy === "Delete" ? undefined : "Sandbox has expired");
  }, waiting);
});
