import { describe, expect, it, vi } from "vitest";
import { namespaceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { type SandboxClaimSpec, sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { type SandboxTemplateSpec, sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { type ClaimLab, openClaimLab } from "../../test/support/labs/claim-lab.ts";
import { waiting } from "../../test/support/waiting.ts";
import type { ProblemReason } from "./claim-problem.ts";

// Whatever a claim's problem depends on wakes the claim when it is corrected. Time stands still, so nothing else does.

const denied = new ApiError(422, {
  ...{ apiVersion: "v1", kind: "Status", code: 422, reason: "Invalid" },
  message: "registry.bad is not permitted",
});
const volume = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};
const running = (image: string) => ({ podTemplate: { spec: { containers: [{ name: "main", image }] } } });

interface Problem {
  readonly reason: ProblemReason;
  readonly template?: Partial<SandboxTemplateSpec>;
  readonly claim?: Partial<SandboxClaimSpec>;
  readonly without?: "template" | "pool";
  /** A spec of the template that serves the claim, and a change of the claim after which the template does. */
  readonly corrected: Partial<SandboxTemplateSpec>;
  readonly changed?: object;
}

const problems: readonly Problem[] = [
  {
    reason: "EnvVarsInjectionRejected",
    claim: { env: [{ name: "A", value: "b" }] },
    corrected: { envVarsInjectionPolicy: "Allowed" },
    changed: { env: null },
  },
  {
    reason: "VolumeClaimTemplatesError",
    claim: { volumeClaimTemplates: [volume] },
    corrected: { volumeClaimTemplatesPolicy: "Allowed" },
    changed: { volumeClaimTemplates: null },
  },
  { reason: "InvalidConfiguration", template: running("registry.bad/a"), corrected: running("busybox") },
  { reason: "TemplateNotFound", without: "template", corrected: {} },
  { reason: "WarmPoolNotFound", without: "pool", corrected: {} },
];

/** A claim that has failed for its reason, and a clock that stands still. */
async function failed({ reason, template, claim, without }: Problem) {
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(await openClaimLab({ kubelet: false }));
  if (without !== "template") await lab.template(template);
  if (without !== "pool") await lab.pool(0);
  await lab.startClaims({
    clock: new FakeClock(systemClock.now()),
    intercept: (call, proceed) =>
      call.verb === "create" && JSON.stringify(call.body).includes("registry.bad") ? Promise.reject(denied) : proceed(),
  });
  await lab.claim("task", claim);
  await lab.untilReady("task", { status: "False", reason });
  const opened = stack.move();
  return { lab, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const untilServed = (lab: ClaimLab) =>
  vi.waitFor(async () => {
    expect((await lab.get(sandboxClaimType, "task"))?.status?.sandbox?.name).toBe("task");
    expect(await lab.get(sandboxType, "task")).toBeDefined();
  }, waiting);

describe("a claim with a problem is served at once", () => {
  it.each(problems.filter(({ without }) => !without))("when its template is corrected: $reason", async (problem) => {
    await using world = await failed(problem);
    await world.lab.patch(sandboxTemplateType, "template", { spec: problem.corrected });
    await untilServed(world.lab);
  });

  it.each(problems.filter(({ without }) => without !== "pool"))(
    "when its pool gets another template: $reason",
    async (problem) => {
      await using world = await failed(problem);
      await world.lab.template(problem.corrected, "corrected");
      await world.lab.patch(sandboxWarmPoolType, "pool", { spec: { sandboxTemplateRef: { name: "corrected" } } });
      await untilServed(world.lab);
    },
  );

  it.each(problems)("when it names another pool: $reason", async (problem) => {
    await using world = await failed(problem);
    await world.lab.template(problem.corrected, "corrected");
    await world.lab.pool(0, { sandboxTemplateRef: { name: "corrected" } }, "corrected");
    await world.lab.patch(sandboxClaimType, "task", { spec: { warmPoolRef: { name: "corrected" } } });
    await untilServed(world.lab);
  });

  it.each(problems.filter(({ changed }) => changed))("when it is corrected itself: $reason", async (problem) => {
    await using world = await failed(problem);
    await world.lab.patch(sandboxClaimType, "task", { spec: problem.changed });
    await untilServed(world.lab);
  });

  it.each(problems.filter(({ without }) => without))("when what it lacks is created: $reason", async (problem) => {
    await using world = await failed(problem);
    await (problem.without === "pool" ? world.lab.pool(0) : world.lab.template());
    await untilServed(world.lab);
  });

  it("when its metadata is corrected", async () => {
    const metadata = { additionalPodMetadata: { labels: { "example.org/x": "1" } } };
    await using world = await failed({ reason: "InvalidMetadata", claim: metadata, corrected: {} });
    await world.lab.patch(sandboxClaimType, "task", { spec: { additionalPodMetadata: null } });
    await untilServed(world.lab);
  });

  it("when its template is corrected after its first sandbox is gone", async () => {
    await using world = await failed({ reason: "EnvVarsInjectionRejected", ...lost });
    const { lab } = world;
    await lab.patch(sandboxTemplateType, "template", { spec: { envVarsInjectionPolicy: "Allowed" } });
    await untilServed(lab);
    await lab.patch(sandboxTemplateType, "template", { spec: { envVarsInjectionPolicy: "Disallowed" } });
    await lab.client.delete(sandboxType, { namespace: "default", name: "task" });
    const { status } = await lab.untilReady("task", { status: "False", reason: "EnvVarsInjectionRejected" });
    expect(status?.sandbox?.name).toBe("task");
    await lab.patch(sandboxTemplateType, "template", { spec: { envVarsInjectionPolicy: "Allowed" } });
    await untilServed(lab);
  });
});

const lost = { claim: { env: [{ name: "A", value: "b" }] }, corrected: {} };

describe("many claims whose template is edited in vain", () => {
  it("are tried once more each, and a claim of another namespace does not wait for them", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    const unmanaged = { networkPolicyManagement: "Unmanaged" } as const;
    await lab.template({ ...running("registry.bad/a"), ...unmanaged });
    await lab.pool(0);
    await lab.client.create(namespaceType, { metadata: { name: "other" } });
    let attempts = 0;
    const edited = Promise.withResolvers<void>();
    await using _claims = await lab.startClaims({
      clock: new FakeClock(systemClock.now()),
      workers: 4,
      intercept: async (call, proceed) => {
        const text = call.verb === "create" ? JSON.stringify(call.body) : "";
        if (!text.includes("registry.bad")) return proceed();
        if (text.includes("registry.bad/b")) {
          attempts += 1;
          await edited.promise;
        }
        throw denied;
      },
    });
    const names = Array.from({ length: 40 }, (_, index) => `task-${index}`);
    for (const name of names) await lab.claim(name);
    for (const name of names) await lab.untilReady(name, { reason: "InvalidConfiguration" });
    await lab.patch(sandboxTemplateType, "template", { spec: running("registry.bad/b") });
    await vi.waitFor(() => expect(attempts).toBe(3), waiting);

    // None of them gets an answer now.
    const at = { namespace: "other", name: "task" };
    const pool = { replicas: 0, sandboxTemplateRef: { name: at.name } };
    await lab.client.create(sandboxTemplateType, { metadata: at, spec: { ...running("busybox"), ...unmanaged } });
    await lab.client.create(sandboxWarmPoolType, { metadata: at, spec: pool });
    await lab.client.create(sandboxClaimType, { metadata: at, spec: { warmPoolRef: { name: at.name } } });
    await vi.waitFor(() => lab.client.get(sandboxType, at), waiting);
    expect(attempts).toBe(3);
    edited.resolve();
    await vi.waitFor(() => expect(attempts).toBe(names.length), waiting);
  });
});
