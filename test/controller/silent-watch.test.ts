import { expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { networkPolicyType } from "../../api/kinds/network-policy.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { type ClaimLab, type LabController, openClaimLab } from "../support/labs/claim-lab.ts";
import { waiting } from "../support/waiting.ts";

const namespace = "default";
const containers = [{ name: "main", image: "busybox" }];

/** The watch of one kind falls silent, and an object of it is deleted with what it owns. */
const owners = [
  {
    owner: sandboxType,
    name: "nova",
    child: podType,
    make: ({ client }: ClaimLab) =>
      client.create(sandboxType, {
        metadata: { namespace, name: "nova" },
        spec: { podTemplate: { spec: { containers } } },
      }),
  },
  { owner: sandboxClaimType, name: "task", child: sandboxType, make: (lab: ClaimLab) => lab.claim("task") },
  {
    owner: sandboxWarmPoolType,
    name: "spares",
    child: sandboxType,
    make: (lab: ClaimLab) => lab.pool(1, {}, "spares"),
  },
  {
    owner: sandboxTemplateType,
    name: "lonely",
    child: networkPolicyType,
    make: (lab: ClaimLab) => lab.template({}, "lonely"),
  },
] as const;

it.each(owners)(
  "$owner.kind: one that is deleted unseen gets what it owns once more, and then no more",
  async (one) => {
    await using lab = await openClaimLab();
    const deafTo = new Set<string>();
    await using controller = await lab.startController({ deafTo });
    await lab.template();
    await lab.pool(0);
    await one.make(lab);
    await vi.waitFor(() => expect(creations(controller, one)).toBe(1), waiting);
    await untilQuiet(controller);
    deafTo.add(one.owner.kind);
    await lab.client.delete<object & { readonly metadata: object }>(one.owner, { namespace, name: one.name });
    await vi.waitFor(() => expect(reads(controller, one)).toBeGreaterThan(0), waiting);
    await untilQuiet(controller);
    expect(creations(controller, one)).toBe(2);
    // A pool is read for its members and for its status.
    expect(reads(controller, one)).toBeLessThanOrEqual(2);
  },
);

it("a NetworkPolicy that its template wants again, unseen, is not deleted", async () => {
  await using lab = await openClaimLab();
  const deafTo = new Set<string>();
  const deletions = { fail: true, count: 0 };
  await using controller = await lab.startController({
    deafTo,
    intercept: async ({ verb, kind }, proceed) => {
      if (verb !== "delete" || kind !== "NetworkPolicy") return proceed();
      deletions.count += 1;
      if (deletions.fail) throw new ApiError(500, { apiVersion: "v1", kind: "Status", code: 500 });
      return proceed();
    },
  });
  const policy = () => lab.get(networkPolicyType, "lonely-network-policy");
  const manage = (networkPolicyManagement: string) =>
    lab.patch(sandboxTemplateType, "lonely", { spec: { networkPolicyManagement } });
  await lab.template({}, "lonely");
  await vi.waitFor(async () => expect(await policy()).toBeDefined(), waiting);
  await manage("Unmanaged");
  await vi.waitFor(() => expect(deletions.count).toBeGreaterThan(0), waiting);
  deafTo.add("SandboxTemplate");
  await manage("Managed");
  const template = owners[3];
  const before = reads(controller, template);
  deletions.fail = false;
  const isTried = async () => reads(controller, template) > before || (await policy()) === undefined;
  await vi.waitFor(async () => expect(await isTried()).toBe(true), waiting);
  await untilQuiet(controller);
  expect(await policy()).toBeDefined();
});

it("the status of a claim that was edited unseen is written, by few calls", async () => {
  await using lab = await openClaimLab();
  const deafTo = new Set<string>();
  await using controller = await lab.startController({ deafTo });
  await lab.template();
  await lab.pool(0);
  const claim = await lab.claim("task");
  await lab.untilReady("task", { status: "True" });
  await untilQuiet(controller);
  deafTo.add("SandboxClaim");
  await lab.patch(sandboxClaimType, "task", { metadata: { labels: { edited: "unseen" } } });
  const [sandbox] = await lab.sandboxesOf(claim);
  const conditions = [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" }];
  const before = controller.calls.length;
  await lab.patch(podType, sandbox?.metadata.name ?? "", { status: { conditions } }, "status");
  await lab.untilReady("task", { status: "False" });
  const ofClaim = controller.calls.slice(before).filter(({ kind }) => kind === "SandboxClaim");
  expect(ofClaim.length).toBeLessThan(10);
});

it("a Pod that somebody deletes again and again comes back later each time", async () => {
  await using lab = await openClaimLab();
  let deletions = 0;
  await using controller = await lab.startController({
    intercept: async ({ verb, kind, name }, proceed) => {
      const answer = await proceed();
      if (verb !== "create" || kind !== "Pod" || deletions === 6) return answer;
      deletions += 1;
      await lab.client.delete(podType, { namespace, name });
      return answer;
    },
  });
  const began = performance.now();
  await owners[0].make(lab);
  await vi.waitFor(() => expect(creations(controller, owners[0])).toBe(7), waiting);
  // 0, 10, 20, 40, 80 and 160 ms, each less a tenth at most.
  expect(performance.now() - began).toBeGreaterThan(270);
});

const creations = (
  { calls }: LabController,
  { child, name }: Pick<(typeof owners)[number], "child" | "name">,
): number =>
  calls.filter((call) => call.verb === "create" && call.kind === child.kind && call.name.startsWith(name)).length;

const reads = ({ calls }: LabController, { owner, name }: (typeof owners)[number]): number =>
  calls.filter((call) => call.verb === "get" && call.kind === owner.kind && call.name === name).length;

/** Waits until the controller has made no call for a while. */
async function untilQuiet({ calls }: LabController): Promise<void> {
  for (let seen = -1; seen !== calls.length; ) {
    seen = calls.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
