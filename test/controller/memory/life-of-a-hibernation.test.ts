import { describe, expect, it, vi } from "vitest";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { SuspensionStrategy } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { causeOf } from "../../../api/rules/suspension.ts";
import { noProvider } from "../../../controller/suspension/hibernation/memory-provider.ts";
import { openSandboxLab } from "../../support/labs/sandbox-lab.ts";
import { openSleepLab, type SleepLab, waiting } from "../../support/labs/sleep-lab.ts";

const autoSuspension = { inactivityTimeoutSeconds: 1 };
const hibernate = { type: "Hibernate" } as const;
const stay = { ...hibernate, onFailure: "StayAwake" } as const;
const gvisor = {
  spec: { containers: [{ name: "main", image: "busybox" }], nodeName: "node-1", runtimeClassName: "gvisor" },
};
const noHibernation = "the controller runs without --hibernation";
const stopped = { state: "Stopped", reason: "NoProvider", message: noHibernation };
const anew = { lastWake: { mode: "Anew", reason: "NoProvider" } };

const refusals = (text: string, reason: string, result: string) =>
  Number(new RegExp(`rouse_hibernation_refusals_total{reason="${reason}",result="${result}"} (\\d+)`).exec(text)?.[1]);
const notes = (lab: SleepLab, reason: string, expected: readonly string[]) =>
  vi.waitFor(async () => expect(await lab.eventNotes(reason)).toEqual(expected), waiting);

describe("a sandbox that is to hibernate, where nothing can keep memory", () => {
  it("is suspended for inactivity all the same, and tells in each place that its memory is lost", async () => {
    await using lab = await openSleepLab();
    await using controller = await lab.startController();
    await lab.create({ autoSuspension, suspensionStrategy: hibernate, podTemplate: gvisor });
    await lab.untilReady();
    const asleep = await lab.untilAsleep();
    expect(causeOf(asleep)).toBe("Inactivity");
    expect(asleep.status?.hibernation).toEqual(stopped);
    const lost = `Sandbox is suspended without its memory: ${noHibernation}`;
    await notes(lab, "MemoryNotKept", [lost]);
    expect(refusals(await controller.metrics(), "NoProvider", "Stopped")).toBe(1);

    await lab.change({ operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 100 } });
    await vi.waitFor(async () => expect((await lab.sandbox()).status?.hibernation).toEqual(anew), waiting);
    await lab.untilReady();

    await lab.change({ operatingMode: "Suspended" });
    expect((await lab.untilAsleep()).status?.hibernation).toEqual({ ...stopped, ...anew });
    await vi.waitFor(
      async () => expect(refusals(await controller.metrics(), "NoProvider", "Stopped")).toBe(2),
      waiting,
    );

    await lab.change({ suspensionStrategy: { type: "Stop" } });
    await vi.waitFor(async () => expect((await lab.sandbox()).status).not.toHaveProperty("hibernation"), waiting);
  });

  it("tells the same after another controller has taken over in the middle of the suspension", async () => {
    await using lab = await openSleepLab();
    lab.activator.onPromise = () => 1;
    {
      await using _controller = await lab.startController();
      await lab.create({ suspensionStrategy: hibernate, podTemplate: gvisor });
      await lab.untilReady();
      await lab.change({ operatingMode: "Suspended" });
      await vi.waitFor(() => expect(lab.activator.questions).toContain("promise"), waiting);
    }
    lab.activator.onPromise = () => 0;
    await using _controller = await lab.startController();
    expect((await lab.untilAsleep()).status?.hibernation).toEqual(stopped);
  });

  it("names what its owner can change before what only the cluster can", async () => {
    await using lab = await openSleepLab();
    await using controller = await lab.startController();
    await lab.create({ autoSuspension, suspensionStrategy: hibernate });
    await lab.untilReady();
    expect((await lab.untilAsleep()).status?.hibernation).toEqual({
      state: "Stopped",
      reason: "RuntimeClassNotSet",
      message: `runtimeClassName of the Pod is not set; ${noHibernation}`,
    });
    expect(refusals(await controller.metrics(), "RuntimeClassNotSet", "Stopped")).toBe(1);
  });
});

describe("a sandbox that would rather stay awake than lose its memory", () => {
  it("is not suspended for inactivity, and says why once, but a person may suspend it", async () => {
    await using lab = await openSleepLab();
    await using controller = await lab.startController();
    await lab.create({ autoSuspension, suspensionStrategy: stay, podTemplate: gvisor });
    const pod = await lab.untilReady();
    const message = `Sandbox is not suspended for inactivity, because its memory cannot be kept: ${noHibernation}`;
    const blocked = { status: "True", reason: "MemoryNotKept", message };
    await vi.waitFor(async () => {
      const { status } = await lab.sandbox();
      expect(findCondition(status?.conditions, "AutoSuspensionBlocked")).toMatchObject(blocked);
      // Its time has come.
      expect(Date.parse(status?.nextSuspensionTime ?? "")).toBeLessThan(Date.now() - 1_000);
    }, waiting);
    expect(lab.activator.questions).toEqual([]);
    expect((await lab.pod())?.metadata.uid).toBe(pod.metadata.uid);
    expect((await lab.sandbox()).status).not.toHaveProperty("hibernation");
    await notes(lab, "SuspensionBlocked", [message]);
    expect(refusals(await controller.metrics(), "NoProvider", "StayedAwake")).toBe(1);

    await lab.change({ operatingMode: "Suspended" });
    const asleep = await lab.untilAsleep();
    expect(asleep.status?.hibernation).toEqual(stopped);
    expect(findCondition(asleep.status?.conditions, "AutoSuspensionBlocked")).toBeUndefined();
    expect(await lab.eventNotes("SuspensionBlocked")).toEqual([message]);
  });

  it("keeps its Pod if the strategy comes between the intent and the seal", async () => {
    await using lab = await openSleepLab();
    await using _controller = await lab.startController();
    lab.activator.onObserved = async () => {
      await lab.change({ suspensionStrategy: stay });
      return { inFlight: 0, idleForMs: 3_600_000 };
    };
    await lab.create({ autoSuspension, podTemplate: gvisor });
    const pod = await lab.untilReady();
    await notes(lab, "SuspensionCancelled", [`suspension cancelled: its memory cannot be kept: ${noHibernation}`]);
    expect(lab.activator.questions).toEqual(["observed"]);
    expect((await lab.pod())?.metadata.uid).toBe(pod.metadata.uid);
  });
});

/** Sleeps and wakes a sandbox with this strategy; returns the calls but for the status, and what the provider was asked. */
async function sleepAndWake(suspensionStrategy: SuspensionStrategy | undefined, flags: readonly string[] = []) {
  const preflight = vi.fn(noProvider.preflight);
  await using lab = await openSandboxLab({ memory: { preflight }, flags });
  await lab.create({ podTemplate: gvisor, ...(suspensionStrategy && { suspensionStrategy }) });
  await lab.untilCondition("Ready", { status: "True" });
  await lab.change({ operatingMode: "Suspended" });
  const asleep = await lab.untilCondition("Suspended", { status: "True" });
  await lab.change({ operatingMode: "Running" });
  const awake = await lab.untilCondition("Ready", { status: "True" });
  const children = ["Pod", "Sandbox", "Service", "PersistentVolumeClaim", "MemoryImage"];
  const calls = lab.client.calls
    .filter(({ kind, subresource, verb }) => children.includes(kind) && subresource !== "status" && verb !== "list")
    .map(({ verb, kind, name, body }) => ({ verb, kind, name, pod: verb === "create" && partsOf(body as Pod) }));
  return { calls, asked: preflight.mock.calls.length, asleep: asleep.status, awake: awake.status };
}

const partsOf = ({ spec, metadata: { annotations } }: Pod) => ({ spec, annotations });

describe("without activators", () => {
  it("a suspension by a person tells that the memory is lost", async () => {
    const { asleep, awake, asked } = await sleepAndWake(stay);
    expect(asleep?.hibernation).toEqual(stopped);
    expect(awake?.hibernation).toEqual(anew);
    expect(asked).toBeGreaterThan(0);
  });

  it("a sandbox without the strategy has the same calls, Pods and status, and no provider is asked", async () => {
    const told = await sleepAndWake(stay);
    for (const strategy of [undefined, {}, { type: "Stop" }] as const) {
      const { calls, asked, asleep, awake } = await sleepAndWake(strategy);
      expect(asked).toBe(0);
      expect(asleep).not.toHaveProperty("hibernation");
      expect(awake).not.toHaveProperty("hibernation");
      expect(calls.filter(({ kind, verb }) => kind === "Pod" && verb !== "get").map(({ verb }) => verb)).toEqual([
        ...["create", "delete", "create"],
      ]);
      // Nor does the strategy itself take any call, as long as nothing can keep memory.
      expect(told.calls).toEqual(calls);
      const withAgents = await sleepAndWake(strategy, ["--hibernation"]);
      expect(withAgents.calls).toEqual(calls);
      expect(withAgents.awake).not.toHaveProperty("hibernation");
    }
  });
});
