import { describe, expect, it } from "vitest";
import { eventType, podType } from "../../../api/kinds/core.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import { openSleepLab, type SleepLab } from "../../../test/support/labs/sleep-lab.ts";
import { passingTime } from "../../../test/support/passing-time.ts";

const activatorPod = { namespace: "agent-sandbox-system", name: "activator-1" };
const minuteMs = 60_000;
/** Minutes pass on the controller's clock, a few milliseconds of real time for each second. */
const limit = { timeout: 60_000 };

async function sayUnready({ client }: SleepLab): Promise<void> {
  await expect.poll(async () => (await client.get(podType, activatorPod)).status?.phase).toBe("Running");
  const running = { name: "router", ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };
  const status = { containerStatuses: [running], conditions: [{ type: "Ready", status: "False" }] };
  await client.patch(podType, activatorPod, { type: "merge", body: { status } }, { subresource: "status" });
}

const blockedOf = async (lab: SleepLab) =>
  findCondition((await lab.sandbox()).status?.conditions, "AutoSuspensionBlocked");

const reasonsAbout = async ({ client }: SleepLab, pod: string) => {
  const { items } = await client.list(eventType, { namespace: activatorPod.namespace });
  return items.filter(({ regarding }) => regarding?.name === pod).map(({ reason }) => reason);
};

describe("a sandbox that is in use behind an activator that is Ready and does not answer the controller", () => {
  it("is left alone without a limit, and sleeps when the activator answers again", limit, async () => {
    await using lab = await openSleepLab();
    const { clock, pass, until } = passingTime();
    await using controller = await lab.startController({ clock });
    const { metadata } = await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 20 } });
    const pod = await lab.untilReady();
    lab.activator.activities = [
      { sandbox: { namespace: "default", name: "nova", uid: metadata.uid }, inFlight: 1, idleForMs: 0 },
    ];
    await pass(10);
    lab.activator.answers = false;

    await until(async () => (await blockedOf(lab)) !== undefined, minuteMs);
    expect(await blockedOf(lab)).toMatchObject({ status: "True", reason: "ActivatorUnreachable" });
    expect((await blockedOf(lab))?.message).toContain("activator-1");
    expect(await reasonsAbout(lab, "activator-1")).toEqual(["ActivatorUnreachable"]);
    expect(await controller.metrics()).toContain("rouse_activators_unreachable 1");
    const version = (await lab.sandbox()).metadata.resourceVersion;
    await pass(400);
    expect((await lab.pod())?.metadata.uid).toBe(pod.metadata.uid);
    expect((await lab.sandbox()).metadata.generation).toBe(1);
    expect(await lab.eventNotes("SandboxIdle")).toEqual([]);
    // Its times are written once a minute, and nothing else.
    expect(Number((await lab.sandbox()).metadata.resourceVersion) - Number(version)).toBeLessThan(15);

    lab.activator.answers = true;
    await until(async () => (await blockedOf(lab)) === undefined, minuteMs);
    lab.activator.activities = [];
    await until(async () => (await lab.pod()) === undefined, 5 * minuteMs);
    expect(await controller.metrics()).toContain("rouse_activators_unreachable 0");
  });
});

describe("a sandbox behind an activator that is lost", () => {
  it("stays awake for five minutes in which that one was not Ready, and goes to sleep after that", limit, async () => {
    await using lab = await openSleepLab();
    const { clock, pass, until } = passingTime();
    await sayUnready(lab);
    await using _controller = await lab.startController({ clock });
    lab.activator.answers = false;
    await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 10 } });
    await lab.untilReady();
    await pass(280);
    // No attempt was made.
    expect((await lab.sandbox()).metadata.generation).toBe(1);
    await until(async () => (await lab.pod()) === undefined, 2 * minuteMs);
  });
});

describe("a Pod that was sealed before its activator went silent", () => {
  it("is deleted after five minutes, and the deletion is counted and reported", limit, async () => {
    await using lab = await openSleepLab();
    const { clock, pass, until } = passingTime();
    await using controller = await lab.startController({ clock });
    await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 10 } });
    await lab.untilReady();
    lab.activator.onObserved = () => {
      lab.activator.answers = false;
      return { inFlight: 0 };
    };
    // The answer to this question is the last one.
    await until(async () => sealOf(await lab.sandbox()) !== undefined, minuteMs);
    await pass(280);
    expect(await lab.pod()).toBeDefined();
    await until(async () => (await lab.pod()) === undefined, minuteMs);
    expect(await lab.eventNotes("SandboxWorkCut")).toEqual([
      "suspended without a response of 1 activator: any connections to the sandbox through it are cut",
    ]);
    expect(await controller.metrics()).toContain("rouse_suspension_unasked_deletions_total 1");
  });
});

describe("a Pod that has the labels of the activators and another service account", () => {
  it("is reported in an event, and keeps no sandbox awake", limit, async () => {
    await using lab = await openSleepLab();
    await lab.client.create(podType, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...activatorPod, name: "debug", labels: { app: "sandbox-router" } },
      // Nothing listens there.
      spec: { containers: [{ name: "router", image: "b" }], nodeName: "node-1", serviceAccountName: "someone" },
    });
    await using _controller = await lab.startController({ flags: ["--activator-service-account=default"] });
    await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 1 } });
    await lab.untilAsleep();
    await expect.poll(() => reasonsAbout(lab, "debug")).toEqual(["NotAnActivator"]);
    expect(await reasonsAbout(lab, "activator-1")).toEqual([]);
  });
});
