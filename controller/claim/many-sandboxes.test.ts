import { expect, it, vi } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { controlledBy } from "../../test/support/builders/builders.ts";
import { openClaimLab } from "../../test/support/labs/claim-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

const namespace = "default";

it("an expired claim deletes at most ten sandboxes in a pass, and all of them in the end", async () => {
  await using lab = await openClaimLab({ kubelet: false });
  await lab.template();
  await lab.pool(0);
  const claim = await lab.claim("task", { lifecycle: { shutdownTime: "2026-01-01T00:00:00Z" } });
  const owner = controlledBy({ ...claim, apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim" });
  const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };
  for (let at = 0; at < 25; at += 1) {
    const metadata = { namespace, name: `task-${at}`, ownerReferences: [owner] };
    await lab.client.create(sandboxType, { metadata, spec: { podTemplate } });
  }
  await using claims = await lab.startClaims();
  await vi.waitFor(async () => expect(await lab.sandboxesOf(claim)).toEqual([]), waiting);
  expect(await lab.get(sandboxClaimType, "task")).toBeDefined();
  // Each pass that deletes reads the claim before.
  const passes = claims.calls
    .map(({ verb, kind }) => `${verb} ${kind}`)
    .join()
    .split("get SandboxClaim")
    .slice(1);
  const deletions = passes.map((calls) => calls.split("delete Sandbox").length - 1).filter((count) => count > 0);
  expect(Math.max(...deletions)).toBe(10);
});
