import { expect, it, vi } from "vitest";
import { podType, serviceType } from "../../api/kinds/core.ts";
import { controllerOf } from "../../api/kinds/meta.ts";
import { openSandboxLab } from "../support/labs/sandbox-lab.ts";
import { waiting } from "../support/waiting.ts";

const metadata = { name: "nova", namespace: "default" };
const containers = [{ name: "main", image: "a" }];
const podTemplate = { spec: { containers } };

it("a suspended sandbox is not Suspended while somebody else's Pod has its name, and is when it is gone", async () => {
  await using lab = await openSandboxLab({ kubelet: true });
  await lab.create({ operatingMode: "Suspended", podTemplate });
  await lab.untilCondition("Suspended", { status: "True" });
  await lab.controllerFreeClient.create(podType, { metadata, spec: { containers } });
  await lab.untilCondition("Suspended", { status: "False", reason: "PodNotOwned" });
  await lab.controllerFreeClient.delete(podType, metadata, { gracePeriodSeconds: 0 });
  await lab.untilCondition("Suspended", { status: "True" });
});

it.each([
  { what: "Pod", type: podType, object: { metadata, spec: { containers } } },
  { what: "Service", type: serviceType, object: { metadata, spec: { ports: [{ port: 80 }] } } },
])("a running sandbox makes its $what as soon as somebody else's with its name is gone", async ({ type, object }) => {
  await using lab = await openSandboxLab({ kubelet: true });
  await lab.controllerFreeClient.create(type as typeof podType, object as never);
  const { uid } = (await lab.create({ podTemplate, service: true })).metadata;
  await lab.untilCondition("Ready", { status: "False" });
  await lab.untilQuiet();
  await lab.controllerFreeClient.delete(type as typeof podType, metadata, { gracePeriodSeconds: 0 });
  await vi.waitFor(async () => {
    const child = await lab.find(type as typeof podType);
    expect(child && controllerOf(child)?.uid).toBe(uid);
  }, waiting);
});
