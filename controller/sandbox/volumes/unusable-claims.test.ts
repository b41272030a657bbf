import { describe, expect, it, vi } from "vitest";
import { persistentVolumeClaimType, podType, serviceType } from "../../../api/kinds/core.ts";
import type { ObjectMeta } from "../../../api/kinds/meta.ts";
import { adoptableLabel } from "../../../api/rules/keys.ts";
import { ApiUnreachable } from "../../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { controlledBy, someoneElse } from "../../../test/support/builders/builders.ts";
import { openSandboxLab, type SandboxLab } from "../../../test/support/labs/sandbox-lab.ts";
import { waiting } from "../../../test/support/waiting.ts";

const namespace = "default";
const named = { namespace, name: "data-nova" };
const storage = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const withVolume = { service: true, volumeClaimTemplates: [{ metadata: { name: "data" }, spec: storage }] };
const finalizers = ["kubernetes.io/pvc-protection"];

/** A volume claim of the name that the sandbox `nova` gives to its own. */
const claimWith = ({ client }: SandboxLab, metadata: ObjectMeta) =>
  client.create(persistentVolumeClaimType, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { ...named, ...metadata },
    spec: storage,
  });
const volume = (lab: SandboxLab) => lab.find(persistentVolumeClaimType, named.name);
const deleteClaim = ({ client }: SandboxLab) => client.delete(persistentVolumeClaimType, named);
const endClaim = ({ client }: SandboxLab) =>
  client.patch(persistentVolumeClaimType, named, { type: "merge", body: { metadata: { finalizers: null } } });
const podCreations = ({ client }: SandboxLab) =>
  client.calls.filter(({ verb, kind }) => verb === "create" && kind === "Pod").length;

/** A lab whose controller retries nothing by itself: its clock stands still. */
const openStill = () => openSandboxLab({ clock: new FakeClock(systemClock.now()) });

const untilItHas = (lab: SandboxLab) =>
  vi.waitFor(async () => {
    expect(await lab.find(podType)).toBeDefined();
    expect((await volume(lab))?.metadata.ownerReferences).toMatchObject([{ kind: "Sandbox", name: "nova" }]);
  }, waiting);

describe("a Pod does not start", () => {
  it("with the volume claim of another owner, and starts at once when that claim is gone", async () => {
    await using lab = await openStill();
    await claimWith(lab, { ownerReferences: [someoneElse] });
    await lab.create(withVolume);
    const message = `Error seen: PersistentVolumeClaim data-nova is controlled by ${someoneElse.kind} ${someoneElse.name} (uid ${someoneElse.uid})`;
    await lab.untilCondition("Ready", { status: "False", reason: "ReconcilerError", message });
    await lab.untilQuiet();
    expect(podCreations(lab)).toBe(0);
    expect(await lab.find(serviceType)).toBeDefined();
    expect(await lab.eventReasons()).toContain("SandboxVolumeClaimFailed");

    const foreign = await volume(lab);
    await deleteClaim(lab);
    await untilItHas(lab);
    expect((await volume(lab))?.metadata.uid).not.toBe(foreign?.metadata.uid);
  });

  it("with the volume claim that a sandbox of the same name left, while that claim is being deleted", async () => {
    await using lab = await openStill();
    const former = { ...someoneElse, apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "nova" };
    await claimWith(lab, { ownerReferences: [former], finalizers });
    await lab.create(withVolume);
    await lab.untilCondition("Ready", { reason: "ReconcilerError" });
    await deleteClaim(lab);
    await lab.untilQuiet();
    expect(podCreations(lab)).toBe(0);
    await endClaim(lab);
    await untilItHas(lab);
  });

  it("with its own volume claim while that is being deleted, and starts with a new one", async () => {
    await using lab = await openStill();
    const nova = await lab.create({ ...withVolume, operatingMode: "Suspended" });
    await lab.untilCondition("Suspended", { status: "True" });
    await lab.client.patch(persistentVolumeClaimType, named, { type: "merge", body: { metadata: { finalizers } } });
    const before = await volume(lab);
    expect(before?.metadata.ownerReferences).toEqual([controlledBy(nova)]);
    await deleteClaim(lab);
    await lab.change({ operatingMode: "Running" });
    const message = "Error seen: PersistentVolumeClaim data-nova is being deleted";
    await lab.untilCondition("Ready", { reason: "ReconcilerError", message });
    await lab.untilQuiet();
    expect(podCreations(lab)).toBe(0);
    await endClaim(lab);
    await untilItHas(lab);
    expect((await volume(lab))?.metadata.uid).not.toBe(before?.metadata.uid);
  });

  it("with a volume claim that nobody gave to the sandbox, and starts once it may have it", async () => {
    await using lab = await openStill();
    await claimWith(lab, {});
    await lab.create(withVolume);
    await lab.untilCondition("Ready", { reason: "ReconcilerError" });
    expect(podCreations(lab)).toBe(0);
    const body = { metadata: { labels: { [adoptableLabel]: "true" } } };
    await lab.client.patch(persistentVolumeClaimType, named, { type: "merge", body });
    await untilItHas(lab);
  });

  it("without a volume claim that could not be created, while the Service is created", async () => {
    await using lab = await openStill();
    lab.client.failWith = ({ verb, kind }) =>
      verb === "create" && kind === "PersistentVolumeClaim" ? new ApiUnreachable("no answer") : undefined;
    await lab.create(withVolume);
    const message = "Error seen: PersistentVolumeClaim data-nova: no answer";
    await lab.untilCondition("Ready", { reason: "ReconcilerError", message });
    expect(podCreations(lab)).toBe(0);
    expect(await lab.find(serviceType)).toBeDefined();
  });
});

describe("a Pod that exists", () => {
  it("stays while its volume claim is being deleted, and its sandbox stays Ready", async () => {
    await using lab = await openStill();
    await lab.create(withVolume);
    await lab.untilCondition("Ready", { status: "True" });
    const pod = await lab.find(podType);
    await lab.client.patch(persistentVolumeClaimType, named, { type: "merge", body: { metadata: { finalizers } } });
    await deleteClaim(lab);
    await lab.untilQuiet();
    expect(await lab.find(podType)).toMatchObject({ metadata: { uid: pod?.metadata.uid } });
    expect(await lab.find(podType)).not.toHaveProperty("metadata.deletionTimestamp");
    await lab.untilCondition("Ready", { status: "True" });
  });
});

it("a volume claim that is deleted while its sandbox is suspended is not created again at once", async () => {
  await using lab = await openStill();
  await lab.create({ ...withVolume, operatingMode: "Suspended" });
  await lab.untilCondition("Suspended", { status: "True" });
  await lab.untilQuiet();
  await deleteClaim(lab);
  await lab.untilQuiet();
  // Its owner may be about to put a restored volume in its place.
  expect(await volume(lab)).toBeUndefined();
});
