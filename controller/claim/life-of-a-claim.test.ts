import { describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { networkPolicyType } from "../../api/kinds/network-policy.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import {
  assignedSandboxAnnotation,
  launchTypeLabel,
  podNameAnnotation,
  suspensionCauseAnnotation,
  warmPoolSandboxLabel,
} from "../../api/rules/keys.ts";
import { inactivityAt } from "../../api/rules/suspension.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { controlledBy } from "../../test/support/builders/builders.ts";
import { openClaimLab } from "../../test/support/labs/claim-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

/** For whom every claim is two seconds older than it is. */
const twoSecondsAhead: Clock = {
  now: () => new Date(systemClock.now().getTime() + 2_000),
  ticksMs: () => systemClock.ticksMs(),
  after: (delayMs, task) => systemClock.after(delayMs, task),
  sleep: (delayMs, signal) => systemClock.sleep(delayMs, signal),
};

describe("a claim on a pool that is warm", () => {
  it("gets a running sandbox, whose Pod loses the pool's label, and the pool refills", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.warm(2);
    await lab.claim("task");
    const claim = await lab.untilReady("task");
    const name = claim.status?.sandbox?.name ?? "";
    expect(claim.status).toMatchObject({
      sandbox: { podIPs: ["10.1.0.5"] },
      conditions: [{ reason: "DependenciesReady", message: "Pod is Ready", observedGeneration: 1 }],
    });
    await vi.waitFor(async () => {
      expect((await lab.get(podType, name))?.metadata.labels).not.toHaveProperty([warmPoolSandboxLabel]);
      expect((await lab.get(sandboxWarmPoolType, "pool"))?.status).toMatchObject({ readyReplicas: 2 });
    }, waiting);
    expect(await lab.sandboxesOf(claim)).toMatchObject([
      { metadata: { name, labels: { [launchTypeLabel]: "warm" }, annotations: { [podNameAnnotation]: name } } },
    ]);
    expect(await lab.eventReasons()).toEqual(["SandboxAdopted Adoption"]);
  });

  it("waits shortly for a sandbox that gets its address, instead of creating one", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    await lab.template();
    await lab.pool(1);
    await lab.spare("warm-1", { conditions: [], podIPs: [] });
    await using claims = await lab.startClaims();
    await lab.claim("task");
    await vi.waitFor(() => expect(claims.calls).toHaveLength(1), waiting);
    expect((await lab.get(sandboxClaimType, "task"))?.status).toBeUndefined();
    await lab.patch(sandboxType, "warm-1", { status: { podIPs: ["10.1.0.5"] } }, "status");
    const claim = await lab.untilReady("task", { reason: "SandboxNotReady" });
    expect(claim.status?.sandbox).toEqual({ name: "warm-1", podIPs: ["10.1.0.5"] });
  });

  it("gets a new sandbox when none gets an address in time", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    await lab.template();
    await lab.pool(1);
    await lab.spare("warm-1", { conditions: [], podIPs: [] });
    await using _claims = await lab.startClaims({ clock: twoSecondsAhead });
    await lab.claim("task");
    expect((await lab.untilReady("task", { reason: "SandboxNotReady" })).status?.sandbox?.name).toBe("task");
  });
});

describe("a claim on a pool that is empty", () => {
  it("gets a sandbox of its own name, made at once", async () => {
    await using lab = await openClaimLab();
    await using controller = await lab.startController();
    await lab.template();
    await lab.pool(0);
    await lab.claim("task");
    const claim = await lab.untilReady("task");
    expect(claim.status?.sandbox).toEqual({ name: "task", podIPs: ["10.1.0.5"] });
    expect(claim.metadata.annotations).not.toHaveProperty([assignedSandboxAnnotation]);
    await vi.waitFor(
      async () => expect(await lab.eventReasons()).toEqual(["SandboxProvisioned Provisioning"]),
      waiting,
    );
    expect(await controller.metrics()).toContain(
      'agent_sandbox_claim_creation_total{namespace="default",sandbox_template="template",warmpool_name="pool",' +
        'launch_type="cold",pod_condition="not_ready",created_by="unknown"} 1',
    );
  });

  it("reports a missing object, and gets its sandbox as soon as that exists", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.claim("task");
    await lab.untilReady("task", { reason: "WarmPoolNotFound", message: 'SandboxWarmPool "pool" not found' });
    await lab.pool(0);
    await lab.untilReady("task", { reason: "TemplateNotFound", message: 'SandboxTemplate "template" not found' });
    expect(await lab.get(sandboxType, "task")).toBeUndefined();
    await lab.template();
    await lab.untilReady("task");
  });

  it("with a name that is not a host name gets a sandbox whose name is one", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.template();
    await lab.pool(0);
    await lab.claim("team.task-7");
    const claim = await lab.untilReady("team.task-7");
    expect(claim.status?.sandbox?.name).toMatch(/^team-task-7-[0-9a-f]{8}$/);
  });

  it("reports when the API server rejects its sandbox, which is no failed reconcile", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    await lab.template();
    await lab.pool(0);
    const invalid = new ApiError(422, {
      apiVersion: "v1",
      kind: "Status",
      reason: "Invalid",
      message: "name too long",
    });
    await using claims = await lab.startClaims({
      intercept: (call, proceed) => (call.verb === "create" ? Promise.reject(invalid) : proceed()),
    });
    await lab.claim("task");
    await lab.untilReady("task", { reason: "InvalidConfiguration", message: "name too long" });
    expect(await claims.registry.metrics()).toContain(
      'controller_runtime_reconcile_errors_total{controller="sandboxclaim"} 0',
    );
  });
});

describe("a bound claim", () => {
  it("passes labels that its template gets on to its sandbox, at its next reconcile", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.warm(1);
    await lab.claim("task");
    const { status } = await lab.untilReady("task");
    const name = status?.sandbox?.name ?? "";
    await lab.patch(sandboxTemplateType, "template", {
      spec: { podTemplate: { metadata: { labels: { tier: "gold" } } } },
    });
    await vi.waitFor(async () => {
      await lab.patch(sandboxClaimType, "task", { metadata: { annotations: { note: `${performance.now()}` } } });
      expect((await lab.get(podType, name))?.metadata.labels).toMatchObject({ tier: "gold" });
    }, waiting);
  });

  it("stays ready, and keeps its labels, when its template gets one of them with another value", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    const key = "sandbox.users.io/team";
    await lab.template();
    await lab.pool(0);
    await lab.claim("task", { additionalPodMetadata: { labels: { [key]: "claim" } } });
    const { status } = await lab.untilReady("task");
    const labels = { [key]: "template", tier: "gold" };
    await lab.patch(sandboxTemplateType, "template", { spec: { podTemplate: { metadata: { labels } } } });
    await vi.waitFor(async () => {
      await lab.patch(sandboxClaimType, "task", { metadata: { annotations: { note: `${performance.now()}` } } });
      expect((await lab.get(podType, "task"))?.metadata.labels).toMatchObject({ [key]: "claim", tier: "gold" });
    }, waiting);
    const after = await lab.untilReady("task");
    expect(after.status?.conditions?.[0]?.lastTransitionTime).toBe(status?.conditions?.[0]?.lastTransitionTime);
  });

  it("gets another sandbox when its own is deleted", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.warm(1);
    await lab.claim("task");
    const first = (await lab.untilReady("task")).status?.sandbox?.name ?? "";
    await lab.client.delete(sandboxType, { namespace: "default", name: first });
    await vi.waitFor(async () => {
      const claim = await lab.untilReady("task");
      expect(claim.status?.sandbox?.name).not.toBe(first);
      expect((await lab.sandboxesOf(claim)).map(({ metadata }) => metadata.name)).toEqual([
        claim.status?.sandbox?.name,
      ]);
    }, waiting);
  });

  it("stays ready while its sandbox is suspended for inactivity, and reports a manual suspension", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.warm(1);
    await lab.claim("task");
    const { status } = await lab.untilReady("task");
    const name = status?.sandbox?.name ?? "";
    const { generation = 0 } = (await lab.get(sandboxType, name))?.metadata ?? {};
    const annotations = { [suspensionCauseAnnotation]: inactivityAt(generation + 1) };
    await lab.patch(sandboxType, name, { metadata: { annotations }, spec: { operatingMode: "Suspended" } });
    const asleep = await lab.untilReady("task", { reason: "SandboxSuspended", status: "True" });
    await vi.waitFor(async () => {
      expect((await lab.get(sandboxClaimType, "task"))?.status?.sandbox).toEqual({ name });
    }, waiting);
    expect(asleep.status?.conditions?.[0]?.lastTransitionTime).toBe(status?.conditions?.[0]?.lastTransitionTime);
    await lab.patch(sandboxType, name, { spec: { operatingMode: "Running" } });
    await lab.untilReady("task", { reason: "DependenciesReady", status: "True" });
    await lab.patch(sandboxType, name, { spec: { operatingMode: "Suspended" } });
    await lab.untilReady("task", { reason: "SandboxSuspended", status: "False", message: "Sandbox is suspended" });
  });

  it("loses the network policy that an older release made for it, and no other", async () => {
    await using lab = await openClaimLab();
    await lab.template();
    await lab.pool(0);
    const [old, other] = [await lab.claim("old"), await lab.claim("other")];
    for (const claim of [old, other]) {
      const ownerReferences = claim === old ? [controlledBy(claim)] : [];
      const metadata = { name: `${claim.metadata.name}-network-policy`, namespace: "default", ownerReferences };
      await lab.client.create(networkPolicyType, { metadata, spec: { podSelector: {} } });
    }
    await using _controller = await lab.startController();
    await lab.untilReady("other");
    await vi.waitFor(
      async () => expect(await lab.get(networkPolicyType, "old-network-policy")).toBeUndefined(),
      waiting,
    );
    expect(await lab.get(networkPolicyType, "other-network-policy")).toBeDefined();
  });
});
