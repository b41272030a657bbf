import { describe, expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { openSandboxLab } from "../../../test/support/labs/sandbox-lab.ts";
import { waiting } from "../../../test/support/waiting.ts";

describe("the status of a sandbox", () => {
  it("is written when a scheduler gives a reason that no condition of ours may have", async () => {
    await using lab = await openSandboxLab({ kubelet: false });
    await lab.create();
    await vi.waitFor(async () => expect(await lab.find(podType)).toBeDefined(), waiting);
    const condition = {
      type: "PodScheduled",
      status: "False",
      reason: "NotEnough resources (gpu)",
      message: "none left",
    };
    const body = { status: { conditions: [condition] } };
    const name = { namespace: "default", name: "nova" };
    await lab.client.patch(podType, name, { type: "merge", body }, { subresource: "status" });
    await lab.untilCondition("PodScheduled", { status: "False", reason: "NotEnough_resources_gpu_" });
  });

  it("is written when the API server's refusal is longer than a message may be", async () => {
    await using lab = await openSandboxLab();
    const message = `Pod "nova" is invalid: ${"spec.containers[0].name: Invalid value ".repeat(10_000)}`;
    lab.client.failWith = ({ verb, kind }) =>
      verb === "create" && kind === "Pod"
        ? new ApiError(422, { apiVersion: "v1", kind: "Status", code: 422, reason: "Invalid", message })
        : undefined;
    await lab.create();
    const sandbox = await lab.untilCondition("Ready", { status: "False", reason: "InvalidConfiguration" });
    const ready = findCondition(sandbox.status?.conditions, "Ready")?.message ?? "";
    expect([...ready]).toHaveLength(32_768);
  });
});
