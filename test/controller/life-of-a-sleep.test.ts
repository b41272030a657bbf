import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { isConditionTrue } from "../../api/rules/conditions.ts";
import { sealedPodAnnotation } from "../../api/rules/keys.ts";
import { causeOf, formatSeal, sleepsByInactivity } from "../../api/rules/suspension.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { openSleepLab, type SleepLab, waiting } from "../support/labs/sleep-lab.ts";

const autoSuspension = { inactivityTimeoutSeconds: 1 };

const identityIn = async (lab: SleepLab) => {
  const { namespace = "", name, uid } = (await lab.sandbox()).metadata;
  return { namespace, name, uid };
};

describe("an idle sandbox", () => {
  it("is suspended with the reason in an event, and reports what woke it", async () => {
    await using lab = await openSleepLab();
    await using controller = await lab.startController();
    await lab.create({ autoSuspension });
    const first = await lab.untilReady();
    const asleep = await lab.untilAsleep();
    expect(lab.activator.questions).toEqual(["observed", "promise"]);
    expect(causeOf(asleep)).toBe("Inactivity");
    expect(asleep.metadata.annotations).not.toHaveProperty(sealedPodAnnotation);
    expect(await lab.pod()).toBeUndefined();
    expect(asleep.status).not.toHaveProperty("nextSuspensionTime");
    await vi.waitFor(async () => expect(await lab.eventNotes("SandboxIdle")).toEqual(["idle for 1s"]), waiting);
    expect(await controller.metrics()).toContain('rouse_suspensions_total{cause="Inactivity"} 1');

    await lab.change({ operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 100 } });
    const { generation = 0 } = (await lab.sandbox()).metadata;
    const sandbox = await identityIn(lab);
    lab.activator.activities = [{ sandbox, inFlight: 0, idleForMs: 0, wake: { generation, port: 8888, agoMs: 0 } }];
    expect((await lab.untilReady()).metadata.uid).not.toBe(first.metadata.uid);
    await vi.waitFor(
      async () => expect(await lab.eventNotes("SandboxWoken")).toEqual(["woken through port 8888"]),
      waiting,
    );
    const awake = await lab.sandbox();
    expect(awake.status).toMatchObject({
      lastActivityTime: expect.any(String),
      nextSuspensionTime: expect.any(String),
    });
  });

  it("has its next suspension right in the status that reports it Ready, after a slow start", async () => {
    await using lab = await openSleepLab({ conditions: [] });
    await using _controller = await lab.startController();
    await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 30 } });
    const secondsLeft = ({ status }: Stored<Sandbox>) =>
      (Date.parse(status?.nextSuspensionTime ?? "") - systemClock.now().getTime()) / 1_000;
    await vi.waitFor(async () => expect(secondsLeft(await lab.sandbox())).toBeGreaterThan(90), waiting);
    const ready = { type: "Ready", status: "True", lastTransitionTime: systemClock.now().toISOString() };
    const patch = { type: "merge", body: { status: { conditions: [ready] } } } as const;
    await lab.client.patch(podType, { namespace: "default", name: "nova" }, patch, { subresource: "status" });
    const sandbox = await vi.waitFor(async () => {
      const seen = await lab.sandbox();
      expect(isConditionTrue(seen.status?.conditions, "Ready")).toBe(true);
      return seen;
    }, waiting);
    expect(secondsLeft(sandbox)).toBeLessThan(31);
  });

  it("has no next suspension any more once no activators are configured", async () => {
    await using lab = await openSleepLab();
    {
      await using _controller = await lab.startController();
      await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 100 } });
      await vi.waitFor(async () => expect((await lab.sandbox()).status?.nextSuspensionTime).toBeDefined(), waiting);
    }
    const { lastActivityTime } = (await lab.sandbox()).status ?? {};
    await using _controller = await lab.startController({ flags: ["--activator-namespace="] });
    await vi.waitFor(async () => expect((await lab.sandbox()).status?.nextSuspensionTime).toBeUndefined(), waiting);
    expect((await lab.sandbox()).status?.lastActivityTime).toBe(lastActivityTime);
  });

  it("stays suspended for inactivity after edits, one by one or while no controller runs", async () => {
    await using lab = await openSleepLab();
    const edit = (seconds: number) => lab.change({ autoSuspension: { inactivityTimeoutSeconds: seconds } });
    {
      await using _controller = await lab.startController();
      await lab.create({ autoSuspension });
      await lab.untilReady();
      await lab.untilAsleep();
      for (let count = 0; count < 4; count += 1) {
        await edit(100 + count);
        expect(causeOf(await lab.untilAsleep())).toBe("Inactivity");
      }
    }
    for (let count = 0; count < 4; count += 1) await edit(200 + count);
    expect(sleepsByInactivity(await lab.sandbox())).toBe(true);
    await using _controller = await lab.startController();
    expect(causeOf(await lab.untilAsleep())).toBe("Inactivity");
    expect(await lab.eventNotes("SuspensionCancelled")).toEqual([]);
  });

  it("keeps its Pod if an activator still proxies to it", async () => {
    await using lab = await openSleepLab();
    await using controller = await lab.startController();
    lab.activator.onObserved = () => ({ inFlight: 1, idleForMs: 0 });
    await lab.create({ autoSuspension });
    const pod = await lab.untilReady();
    await vi.waitFor(async () => {
      expect(await lab.eventNotes("SuspensionCancelled")).toEqual(["suspension cancelled: 1 in flight"]);
    }, waiting);
    expect((await lab.sandbox()).spec.operatingMode).toBe("Running");
    expect((await lab.pod())?.metadata).toMatchObject({ uid: pod.metadata.uid });
    expect(lab.activator.questions).not.toContain("promise");
    expect(await controller.metrics()).toContain('rouse_suspension_handshakes_total{outcome="cancelled"} 1');
  });

  it("gets no busy probe while it is in use", async () => {
    await using lab = await openSleepLab();
    await using _controller = await lab.startController();
    await lab.create({ autoSuspension });
    lab.activator.activities = [{ sandbox: await identityIn(lab), inFlight: 1, idleForMs: 0 }];
    await lab.untilReady();
    await vi.waitFor(async () => expect((await lab.sandbox()).status?.nextSuspensionTime).toBeDefined(), waiting);
    expect((await lab.sandbox()).metadata.generation).toBe(1);
    expect(lab.activator.questions).toEqual([]);
  });
});

describe("a sandbox with a busy probe", () => {
  it("is not suspended while the probe says that it is busy", async () => {
    let asked = 0;
    const workload = createServer((_, response) => {
      asked += 1;
      response.writeHead(503).end();
    }).listen(0, "127.0.0.1");
    await once(workload, "listening");
    const { port } = workload.address() as AddressInfo;
    await using lab = await openSleepLab();
    await using _controller = await lab.startController();
    await lab.create({ autoSuspension: { ...autoSuspension, busyProbe: { httpGet: { path: "/busy", port } } } });
    await vi.waitFor(() => expect(asked).toBe(1), waiting);
    await using _closed = { [Symbol.asyncDispose]: async () => void workload.close() };
    expect((await lab.sandbox()).metadata.generation).toBe(1);
    expect(lab.activator.questions).toEqual([]);
  });
});

describe("a sealed sandbox after the activators were removed from the configuration", () => {
  it("loses the sealed Pod once no activator can send anything to it", async () => {
    await using lab = await openSleepLab();
    const clock = new FakeClock(systemClock.now());
    await using _controller = await lab.startController({ clock, flags: ["--activator-namespace="] });
    await lab.create({});
    const first = await lab.untilReady();
    const { name: podName, uid: podUid } = first.metadata;
    const seal = formatSeal({ podName, podUid, cause: "Inactivity", at: clock.now().toISOString() });
    const body = { metadata: { annotations: { [sealedPodAnnotation]: seal } } };
    await lab.client.patch(sandboxType, { namespace: "default", name: "nova" }, { type: "merge", body });
    await vi.waitFor(async () => {
      await clock.advance(5_000);
      expect((await lab.pod())?.metadata.uid).not.toBe(podUid);
      expect((await lab.pod())?.metadata.uid).toBeDefined();
    }, waiting);
    expect((await lab.sandbox()).metadata.annotations).not.toHaveProperty(sealedPodAnnotation);
  });
});

describe("a wake during a suspension", () => {
  it("cancels the suspension if it comes before the seal", async () => {
    await using lab = await openSleepLab();
    await using _controller = await lab.startController();
    let woke = false;
    lab.activator.onObserved = async () => {
      if (!woke) await lab.change({ operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 100 } });
      woke = true;
      return { inFlight: 0 };
    };
    await lab.create({ autoSuspension });
    const pod = await lab.untilReady();
    await vi.waitFor(() => expect(woke).toBe(true), waiting);
    await vi.waitFor(
      async () =>
        expect((await lab.sandbox()).status?.conditions).toContainEqual(
          expect.objectContaining({ type: "Ready", status: "True", observedGeneration: 3 }),
        ),
      waiting,
    );
    expect((await lab.pod())?.metadata.uid).toBe(pod.metadata.uid);
    expect(lab.activator.questions).toEqual(["observed"]);
  });

  it("is served by the next Pod if it comes after the seal", async () => {
    await using lab = await openSleepLab();
    await using _controller = await lab.startController();
    lab.activator.onPromise = async () => {
      await lab.change({ operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 100 } });
      return 0;
    };
    await lab.create({ autoSuspension });
    const first = await lab.untilReady();
    await vi.waitFor(async () => expect((await lab.pod())?.metadata.uid).not.toBe(first.metadata.uid), waiting);
    const second = await lab.untilReady();
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect((await lab.sandbox()).metadata.annotations).not.toHaveProperty(sealedPodAnnotation);
  });
});

describe("a manual suspension", () => {
  it("waits until nothing is in flight", async () => {
    await using lab = await openSleepLab();
    await using controller = await lab.startController();
    let inFlight = 1;
    lab.activator.onPromise = () => inFlight;
    await lab.create({});
    const pod = await lab.untilReady();
    await lab.change({ operatingMode: "Suspended" });
    await vi.waitFor(() => expect(lab.activator.questions.length).toBeGreaterThan(2), waiting);
    expect((await lab.pod())?.metadata).toMatchObject({ uid: pod.metadata.uid });
    expect((await lab.pod())?.metadata).not.toHaveProperty("deletionTimestamp");
    inFlight = 0;
    const asleep = await lab.untilAsleep();
    expect(causeOf(asleep)).toBe("Person");
    expect(asleep.status).not.toHaveProperty("lastActivityTime");
    expect(lab.activator.questions).not.toContain("observed");
    expect(await controller.metrics()).toContain("rouse_suspension_cut_requests_total 0");
  });

  it("cuts requests in flight after the drain timeout, and reports this", async () => {
    await using lab = await openSleepLab();
    await using controller = await lab.startController();
    lab.activator.onPromise = () => 2;
    await lab.create({ autoSuspension: { drainTimeoutSeconds: 1 } });
    await lab.untilReady();
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilAsleep();
    await vi.waitFor(async () => {
      expect(await lab.eventNotes("SandboxWorkCut")).toEqual([
        "drain timeout (1s) reached: requests and connections that were cut: 2",
      ]);
    }, waiting);
    expect(await controller.metrics()).toContain("rouse_suspension_cut_requests_total 2");
  });
});
