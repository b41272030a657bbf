import { Registry } from "prom-client";
import { expect, it, vi } from "vitest";
import { configMapType, persistentVolumeClaimType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { parseControllerConfig } from "../../controller/config/config.ts";
import { startController } from "../../controller/start.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { chartRights, type Program } from "../support/chart-rights.ts";
import { NoRight, usedRights, withinRights } from "../support/fakes/within-rights.ts";
import { openActivatorWorld } from "../support/labs/activator-world.ts";
import { openExtensionsLab } from "../support/labs/extensions-lab.ts";
import { openFrontLab } from "../support/labs/front-lab.ts";
import { openMemoryWorld, untilCapturable } from "../support/labs/memory-world.ts";
import { openWebhookApi } from "../support/labs/webhook-world.ts";
import { waiting } from "../support/waiting.ts";

const namespace = "agent-sandbox-system";

/** The rights that the calls of these tests need never or not each time, with the reason for each. Calls of all other tests are within the rights of the chart too. */
const otherUses: Readonly<Record<Program, Readonly<Record<string, readonly string[]>>>> = {
  controller: {
    // An API server may check the writer of an owner reference: it must have the right to delete the dependent, and to change the
    // owner's finalizers.
    "admission of owner references": [
      "delete persistentvolumeclaims",
      "update sandboxclaims/finalizers.extensions.agents.x-k8s.io",
      "update sandboxes/finalizers.agents.x-k8s.io",
      "update sandboxtemplates/finalizers.extensions.agents.x-k8s.io",
      "update sandboxwarmpools/finalizers.extensions.agents.x-k8s.io",
    ],
    // Read if another client was faster, or if what was created is gone at once.
    conflicts: [
      "get endpointslices.discovery.k8s.io",
      "get memoryimages.hibernation.rouse.dev",
      "get networkpolicies.networking.k8s.io",
      "get persistentvolumeclaims",
      "get pods",
      "get sandboxclaims.extensions.agents.x-k8s.io",
      "get sandboxes.agents.x-k8s.io",
      "get sandboxtemplates.extensions.agents.x-k8s.io",
      "get sandboxwarmpools.extensions.agents.x-k8s.io",
      "get services",
    ],
    "children that are adopted or have changed": [
      "patch persistentvolumeclaims",
      "patch services",
      "update networkpolicies.networking.k8s.io",
      "update services",
    ],
    "the end of a quarantine": ["delete endpointslices.discovery.k8s.io"],
    "the end of a claim, and of a template without users": [
      "delete networkpolicies.networking.k8s.io",
      "delete sandboxclaims.extensions.agents.x-k8s.io",
    ],
    "images whose Sandbox is gone": ["delete memoryimages.hibernation.rouse.dev"],
    "renewed certificates and keys": ["update configmaps", "update secrets"],
  },
  activator: {
    "reviews of tokens and of access, with a flag": [
      "create subjectaccessreviews.authorization.k8s.io",
      "create tokenreviews.authentication.k8s.io",
    ],
    "activator ports, with a flag": ["list endpointslices.discovery.k8s.io", "watch endpointslices.discovery.k8s.io"],
  },
  agent: {},
};

it("the controller makes certificates, and takes the lease, within its rights", { timeout: 60_000 }, async () => {
  await using api = await openWebhookApi();
  const flags = ["--metrics-bind-address=0", "--health-probe-bind-address=0", "--webhook-port=0", "--extensions"];
  const where = [`--leader-election-namespace=${namespace}`, `--activator-namespace=${namespace}`];
  await using _controller = await startController(parseControllerConfig([...flags, ...where]), {
    ...{ clock: systemClock, log: silentLogger, registry: new Registry(), identity: "a" },
    client: withinRights("controller", api.client),
  });
  await vi.waitFor(() => expect([...usedRights("controller")]).toContain("update leases.coordination.k8s.io"), waiting);
});

it("the controller gives a sandbox volumes, a Service and a way to activators within its rights", async () => {
  await using lab = await openFrontLab();
  lab.activators.are({ address: "10.0.0.1" });
  await using _controller = await lab.startController();
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  const sandbox = await lab.create({ volumeClaimTemplates: [{ metadata: { name: "data" }, spec }] });
  await lab.untilLeadingTo(sandbox, "10.0.0.1");
  lab.activators.are({ address: "10.0.0.2" });
  await lab.untilLeadingTo(sandbox, "10.0.0.2");
  await vi.waitFor(async () => {
    const { items } = await lab.client.list(persistentVolumeClaimType, { namespace: "default" });
    expect(items).toHaveLength(1);
  }, waiting);
  await lab.change({ service: false });
  await vi.waitFor(async () => expect(await lab.service()).toBeUndefined(), waiting);
});

it("the controller keeps templates, pools and claims within its rights", { timeout: 60_000 }, async () => {
  await using lab = await openExtensionsLab();
  const name = { namespace: "default", name: "task" };
  await lab.createTemplate();
  await lab.createPool({ replicas: 1 });
  await lab.untilPool({ readyReplicas: 1 });
  await lab.client.create(sandboxClaimType, { metadata: name, spec: { warmPoolRef: { name: "warm" } } });
  await vi.waitFor(async () => {
    expect((await lab.client.get(sandboxClaimType, name)).status?.sandbox?.name).toBeTruthy();
  }, waiting);
  await lab.untilPool({ readyReplicas: 1 });
  await lab.changePool({ replicas: 0 });
  await lab.untilPool({ replicas: 0 });
});

it("the activator finds and wakes within its rights", async () => {
  await using world = await openActivatorWorld();
  await world.asleep("nova");
  const headers = { "x-sandbox-id": "nova", "x-sandbox-timeout": "1" };
  await fetch(world.activator.proxyUrl, { headers });
  expect([...usedRights("activator")]).toContain("patch sandboxes.agents.x-k8s.io");
});

it("the controller and the node agent keep memory within their rights", { timeout: 60_000 }, async () => {
  await using world = await openMemoryWorld();
  const { lab } = world;
  const pod = await lab.untilReady();
  await untilCapturable(lab, pod.metadata.uid);
  await lab.change({ operatingMode: "Suspended" });
  await lab.untilAsleep();
  await lab.change({ operatingMode: "Running" });
  await lab.untilReady();
  await lab.client.delete(sandboxType, { namespace: "default", name: "nova" });
});

it.each(["controller", "activator", "agent"] as const)("the %s needs each of its rights", (program) => {
  const { everywhere, somewhere } = chartRights(program);
  const used = usedRights(program);
  const explained = Object.values(otherUses[program]).flat();
  const inVain = [...everywhere, ...somewhere].filter((right) => !used.has(right) && !explained.includes(right));
  expect(inVain.sort()).toEqual([]);
  expect(explained.filter((right) => !everywhere.has(right) && !somewhere.has(right))).toEqual([]);
});

it("a call without a right fails", async () => {
  await using api = await openWebhookApi();
  const outcomes: unknown[] = [];
  const client = withinRights("agent", api.client, (error) => outcomes.push(error));
  await expect(client.get(sandboxType, { namespace: "default", name: "nova" })).rejects.toThrow(NoRight);
  await expect(client.list(configMapType)).rejects.toThrow("does not let the agent list configmaps in all namespaces");
  expect(outcomes).toHaveLength(2);
});
