import { expect, it, vi } from "vitest";
import { persistentVolumeClaimType, podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxNameHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { controlledBy } from "../support/builders/builders.ts";
import type { RecordedCall } from "../support/fakes/recording-client.ts";
import { openSandboxLab, type SandboxLab } from "../support/labs/sandbox-lab.ts";
import { waiting } from "../support/waiting.ts";

const namespace = "default";
const containers = [{ name: "main", image: "busybox" }];
const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const volumes = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ metadata: { name: `data-${at}` }, spec }));

/** Creates the sandbox `other` at the first of these calls of the controller. */
function createOtherAt(lab: SandboxLab, isSo: (call: RecordedCall) => boolean): void {
  let isCreated = false;
  const podTemplate = { spec: { containers } };
  lab.client.failWith = (call) => {
    if (isCreated || !isSo(call)) return undefined;
    isCreated = true;
    void lab.client.create(sandboxType, { metadata: { namespace, name: "other" }, spec: { podTemplate } });
    return undefined;
  };
}

it("a sandbox with many volume claims lets others pass, gets all of them, and then its Pod", async () => {
  await using lab = await openSandboxLab({ flags: ["--sandbox-concurrent-workers=1"] });
  const createsClaim = ({ verb, kind }: RecordedCall) => verb === "create" && kind === "PersistentVolumeClaim";
  createOtherAt(lab, createsClaim);
  await lab.create({ volumeClaimTemplates: volumes(100) });
  await lab.untilCondition("Ready", { status: "True" });
  const { calls } = lab.client;
  const podAt = (of: string) => calls.findIndex(({ verb, kind, name }) => `${verb} ${kind} ${name}` === of);
  expect(podAt("create Pod other")).toBeGreaterThan(0);
  expect(podAt("create Pod other")).toBeLessThan(calls.findLastIndex(createsClaim));
  expect(podAt("create Pod nova")).toBeGreaterThan(calls.findLastIndex(createsClaim));
  const { items } = await lab.client.list(persistentVolumeClaimType, { namespace });
  expect(items).toHaveLength(100);
  expect(await lab.metrics()).toContain('controller_runtime_reconcile_errors_total{controller="sandbox"} 0');
});

it("a sandbox with more than 1,000 volume claims gets none and no Pod, and its status says so", async () => {
  await using lab = await openSandboxLab();
  await lab.create({ volumeClaimTemplates: volumes(1_001) });
  const ready = await lab.untilCondition("Ready", { status: "False", reason: "InvalidConfiguration" });
  expect(JSON.stringify(ready)).toContain("has 1001 volumeClaimTemplates, and may have at most 1000");
  await lab.untilQuiet();
  const creations = lab.client.calls.filter(({ verb, kind }) => verb === "create" && kind !== "Event");
  expect(creations).toEqual([]);
});

it("an expired sandbox with many Pods lets others pass, and loses all of them before it says so", async () => {
  await using lab = await openSandboxLab({ flags: ["--sandbox-concurrent-workers=1"], kubelet: false });
  const nova = await lab.create({ service: true, podTemplate: { spec: { containers } } });
  await lab.untilCondition("Ready", { message: "Pod exists with phase: Pending; Service Exists" });
  const labels = { [sandboxNameHashLabel]: nameHash("nova") };
  for (let at = 0; at < 40; at += 1) {
    const metadata = { namespace, name: `pod-${at}`, labels, ownerReferences: [controlledBy(nova)] };
    await lab.client.create(podType, { metadata, spec: { containers } });
  }
  await lab.untilCondition("Ready", { reason: "MultiplePods" });
  const deletesPod = ({ verb, kind }: RecordedCall) => verb === "delete" && kind === "Pod";
  createOtherAt(lab, deletesPod);
  await lab.change({ shutdownTime: "2026-01-01T00:00:00Z" });
  await vi.waitFor(async () => {
    const { items } = await lab.client.list(podType, { namespace });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["other"]);
  }, waiting);
  await vi.waitFor(async () => {
    expect(Object.keys((await lab.find(sandboxType))?.status ?? {})).toEqual(["conditions"]);
  }, waiting);
  const isCut = ({ verb, kind, body, subresource }: RecordedCall) =>
    verb === "patch" &&
    kind === "Sandbox" &&
    subresource === "status" &&
    JSON.stringify(body).includes('"service":null');
  const { calls } = lab.client;
  expect(calls.filter(deletesPod)).toHaveLength(41);
  expect(calls.findIndex(isCut)).toBeGreaterThan(calls.findLastIndex(deletesPod));
});
