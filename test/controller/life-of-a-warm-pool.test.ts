import { describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { safeToEvictAnnotation, warmPoolSandboxLabel } from "../../api/rules/keys.ts";
import { nameHash, warmPoolSelector } from "../../api/rules/names.ts";
import { controlledBy } from "../support/builders/builders.ts";
import { type ExtensionsLab, openExtensionsLab } from "../support/labs/extensions-lab.ts";
import { waiting } from "../support/waiting.ts";

const named = (name: string) => ({ namespace: "default", name });
const image = (tag: string) => ({ podTemplate: { spec: { containers: [{ name: "main", image: `busybox:${tag}` }] } } });
const imagesOf = (members: readonly Stored<Sandbox>[]) =>
  members.map(({ spec }) => spec.podTemplate.spec.containers[0]?.image).sort();
const namesOf = (members: readonly Stored<Sandbox>[]) => members.map(({ metadata }) => metadata.name).sort();
const full = (replicas: number) => ({ replicas, readyReplicas: replicas });

async function openWith(replicas: number, pool: object = {}, flags: readonly string[] = []): Promise<ExtensionsLab> {
  const lab = await openExtensionsLab({ flags });
  await lab.createTemplate(image("old"));
  await lab.createPool({ replicas, ...pool });
  await lab.untilPool(full(replicas));
  return lab;
}

/** The call of `kubectl scale sandboxwarmpool warm`. */
const scale = (lab: ExtensionsLab, replicas: number) =>
  lab.client.patch(
    sandboxWarmPoolType,
    named("warm"),
    { type: "merge", body: { spec: { replicas } } },
    { subresource: "scale" },
  );

describe("a SandboxWarmPool from its creation", () => {
  it("is filled with running sandboxes, and then makes no calls", async () => {
    await using lab = await openWith(5);
    const members = await lab.members();
    expect(members).toHaveLength(5);
    const name = members[0]?.metadata.name ?? "";
    expect(name).toMatch(/^warm-[a-z0-9]{5}$/);
    const pod = await lab.find(podType, name);
    expect(pod?.metadata).toMatchObject({
      labels: { [warmPoolSandboxLabel]: nameHash("warm") },
      annotations: { [safeToEvictAnnotation]: "true" },
    });
    expect(pod?.spec).toMatchObject({ automountServiceAccountToken: false, dnsPolicy: "None" });
    await lab.untilPool({ ...full(5), selector: warmPoolSelector("warm"), observedGeneration: 1 });

    await lab.untilQuiet();
    lab.client.calls.length = 0;
    const body = { metadata: { annotations: { reconcile: "again" } } };
    await lab.client.patch(sandboxWarmPoolType, named("warm"), { type: "merge", body });
    expect(await lab.untilQuiet(), "the one call is the test's own").toBe(1);
    expect(await lab.metrics()).toContain('controller_runtime_reconcile_errors_total{controller="sandboxwarmpool"} 0');
  });

  it("is scaled up, down and to zero through its scale subresource", async () => {
    await using lab = await openWith(1);
    await scale(lab, 4);
    await lab.untilPool(full(4));
    await scale(lab, 1);
    await lab.untilPool(full(1));
    expect(await lab.members()).toHaveLength(1);
    await scale(lab, 0);
    await lab.untilPool(full(0));
    expect(await lab.members()).toEqual([]);
  });

  it("replaces all members after a change of its template if its strategy is Recreate", async () => {
    await using lab = await openWith(3, { updateStrategy: { type: "Recreate" } });
    const before = namesOf(await lab.members());
    await lab.changeTemplate(image("new"));
    await vi.waitFor(async () => {
      const members = await lab.members();
      expect(imagesOf(members)).toEqual(["busybox:new", "busybox:new", "busybox:new"]);
      expect(namesOf(members)).not.toEqual(expect.arrayContaining(before));
    }, waiting);
    await lab.untilPool(full(3));
  });

  it("keeps its members if only labels, annotations and sleep settings of the template change", async () => {
    await using lab = await openWith(2, { updateStrategy: { type: "Recreate" } });
    const before = namesOf(await lab.members());
    const metadata = { labels: { team: "a" }, annotations: { note: "b" } };
    const autoSuspension = { inactivityTimeoutSeconds: 60 };
    await lab.changeTemplate({ podTemplate: { metadata }, autoSuspension });
    await lab.untilQuiet();
    expect(namesOf(await lab.members())).toEqual(before);
  });

  it("keeps old members by default, and creates new ones from the new template", async () => {
    await using lab = await openWith(2);
    await lab.changeTemplate(image("new"));
    await lab.untilQuiet();
    const members = await lab.members();
    expect(imagesOf(members)).toEqual(["busybox:old", "busybox:old"]);
    await lab.client.delete(sandboxType, named(members[0]?.metadata.name ?? ""));
    await vi.waitFor(async () => {
      expect(imagesOf(await lab.members())).toEqual(["busybox:new", "busybox:old"]);
    }, waiting);
  });

  it("keeps its members if its template is deleted, reports that, and continues once there is one", async () => {
    await using lab = await openWith(2);
    const members = await lab.members();
    await lab.client.delete(sandboxTemplateType, named("tpl"));
    await lab.client.delete(sandboxType, named(members[0]?.metadata.name ?? ""));
    await lab.untilPool({ replicas: 1 });
    await vi.waitFor(async () => expect(await lab.poolEvents()).toEqual(["WarmPoolNotProgressing"]), waiting);
    expect(await lab.members()).toHaveLength(1);
    await lab.createTemplate(image("new"));
    await lab.untilPool(full(2));
    const reasons = ["WarmPoolNotProgressing", "WarmPoolProgressing"];
    await vi.waitFor(async () => expect([...(await lab.poolEvents())].sort()).toEqual(reasons), waiting);
  });

  it("is deleted with its members, but not with those that were claimed", async () => {
    await using lab = await openWith(2);
    const [claimed] = await lab.members();
    const pool = await lab.untilPool({});
    const template = await lab.client.get(sandboxTemplateType, named("tpl"));
    const metadata = { labels: { [warmPoolSandboxLabel]: null }, ownerReferences: [controlledBy(template)] };
    await lab.client.patch(sandboxType, named(claimed?.metadata.name ?? ""), { type: "merge", body: { metadata } });
    // The claimed member is replaced, because it no longer belongs to the pool.
    await vi.waitFor(async () => expect(await lab.members()).toHaveLength(2), waiting);
    await lab.client.delete(sandboxWarmPoolType, named(pool.metadata.name));
    await vi.waitFor(async () => expect(await lab.members()).toEqual([]), waiting);
    expect(await lab.find(sandboxType, claimed?.metadata.name)).toBeDefined();
  });
});

describe("a member that a claim takes", () => {
  it("uses the current sleep settings of its template, although it was created before", async () => {
    await using lab = await openWith(1, { updateStrategy: { type: "Recreate" } });
    const [member] = await lab.members();
    await lab.changeTemplate({ autoSuspension: { inactivityTimeoutSeconds: 60 } });
    await lab.untilQuiet();
    expect((await lab.members())[0]?.spec).not.toHaveProperty("autoSuspension");
    await lab.client.create(sandboxClaimType, { metadata: named("mine"), spec: { warmPoolRef: { name: "warm" } } });
    await vi.waitFor(async () => {
      const claimed = await lab.client.get(sandboxType, named(member?.metadata.name ?? ""));
      expect(claimed.metadata.ownerReferences).toMatchObject([{ kind: "SandboxClaim", name: "mine" }]);
      expect(claimed.spec.autoSuspension).toMatchObject({ inactivityTimeoutSeconds: 60 });
    }, waiting);
  });
});

describe("with several pools,", () => {
  it("only the pools that a change concerns are reconciled", async () => {
    await using lab = await openWith(1);
    await lab.createTemplate(image("other"), "other");
    await lab.createPool({ replicas: 1, sandboxTemplateRef: { name: "other" } }, "second");
    await lab.untilPool(full(1), "second");
    await lab.untilQuiet();
    const reconciles = async () => {
      const counted = /controller_runtime_reconcile_total\{controller="sandboxwarmpool",result="success"\} (\d+)/;
      return Number(counted.exec(await lab.metrics())?.[1]);
    };
    const before = await reconciles();
    await lab.changeTemplate(image("newer"), "other");
    await vi.waitFor(async () => expect(await reconciles()).toBe(before + 1), waiting);
    await lab.untilQuiet();
    expect(await reconciles()).toBe(before + 1);
  });

  it("a small pool does not wait until a large one is full", async () => {
    await using lab = await openExtensionsLab({ flags: ["--sandbox-warm-pool-max-batch-size=5"] });
    await lab.createTemplate();
    await lab.createPool({ replicas: 30 }, "large");
    await lab.createPool({ replicas: 1 }, "small");
    await lab.untilPool(full(1), "small");
    expect((await lab.members("large")).length).toBeLessThan(30);
    await lab.untilPool(full(30), "large");
    expect(await lab.members("large")).toHaveLength(30);
  });

  it("each pool is counted in the metrics by the states of its sandboxes", async () => {
    await using lab = await openWith(2);
    const labels = 'namespace="default",warmpool_name="warm",sandbox_template="tpl",sandbox_status="ready"';
    await vi.waitFor(async () => {
      expect(await lab.metrics()).toContain(`agent_sandbox_warmpool_size{${labels}} 2`);
    }, waiting);
    expect(await lab.metrics()).toContain('workqueue_depth{name="sandboxwarmpool",controller="sandboxwarmpool"} 0');
  });

  it("a member with an owner reference of the older version is recognized", async () => {
    await using lab = await openWith(1);
    const [member] = await lab.members();
    const pool = await lab.untilPool(full(1));
    const older = { ...controlledBy(pool), apiVersion: "extensions.agents.x-k8s.io/v1alpha1" };
    const name = named(member?.metadata.name ?? "");
    const body = { metadata: { ownerReferences: [older] } };
    await lab.client.patch(sandboxType, name, { type: "merge", body });
    await lab.untilQuiet();
    expect(namesOf(await lab.members())).toEqual([name.name]);
    await lab.client.delete(sandboxType, name);
    await vi.waitFor(async () => {
      const names = namesOf(await lab.members());
      expect(names).toHaveLength(1);
      expect(names).not.toEqual([name.name]);
    }, waiting);
  });
});
