import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Hibernation } from "../../../api/kinds/sandbox.ts";
import { memoryImageAnnotation } from "../../../api/rules/keys.ts";
import { nodeName } from "../../../cluster/network.ts";
import { findActivator, type InstalledActivator } from "../e2e/support/installed-activator.ts";
import { openSandboxes, sandboxNamed } from "../e2e/support/sandboxes.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { killAgent } from "../support/node-processes.ts";
import { busyboxPod } from "../support/workload.ts";
import { agentIsReady, imageFolder, withoutPodPolicy } from "./node-agent.ts";

// The installed product, as a user has it: the chart's controller, activators and node agent, and a sandbox in gVisor.

let cluster: ClusterUnderTest;
let activator: InstalledActivator;
beforeAll(async () => {
  cluster = await connectToCluster();
  activator = await findActivator(cluster);
  await agentIsReady(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const name = "nova";

/** A sandbox that is awake, has been asked, and whose node says that it can keep the memory. */
async function openAwake(spec: object = {}) {
  const test = await openSandboxes(cluster);
  const to = test.at(name);
  const hibernates = {
    suspensionStrategy: { type: "Hibernate" as const },
    autoResume: { trigger: "Connection" as const },
  };
  const pod = { runtimeClassName: "gvisor", automountServiceAccountToken: false };
  await test.apply(sandboxNamed(name, { spec: { operatingMode: "Running", ...hibernates, ...spec }, pod }));
  const images = async () => JSON.parse(await test.run("get", "memimg", "--output=json")).items;
  await eventually(async () => (await images())[0]?.status?.preflight?.capturable);
  const status = async (): Promise<Hibernation> => (await test.sandbox(name)).status?.hibernation ?? {};
  return {
    ...test,
    before: await activator.askProgram(to),
    ask: () => activator.ask(to),
    images,
    /** Waits until the sandbox sleeps, and returns what its status says of its memory. */
    async asleep(): Promise<Hibernation> {
      await test.untilAsleep(name);
      return status();
    },
    lastWake: () => eventually(async () => (await status()).lastWake),
  };
}

const kept = {
  state: "Hibernated",
  node: nodeName,
  bytes: expect.any(Number),
  durationMilliseconds: expect.any(Number),
};

describe("a sandbox that hibernates", () => {
  it("keeps its memory when a person suspends it, says so, and goes on with the next request", async () => {
    await using test = await openAwake();
    await test.pause(name);
    const asleep = await test.asleep();
    expect(asleep).toMatchObject(kept);
    const [head = "", row = ""] = (await test.run("get", "sandboxes", "--output=wide")).split("\n");
    expect(head).toMatch(/MEMORY +MEMORY BYTES/);
    expect(row).toMatch(new RegExp(`Hibernated +${asleep.bytes}`));
    expect(await test.podOf(name)).toBeUndefined();

    const { status, body, started } = await test.ask();
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ boot: test.before.boot, asked: test.before.asked + 1 });
    // It says so if the node has told it by then.
    expect([undefined, "restored"]).toContain(started);
    expect(await test.lastWake()).toEqual({
      mode: "Restored",
      podUID: expect.any(String),
      durationMilliseconds: expect.any(Number),
    });
    const reasons = () => test.eventReasons("Sandbox", name);
    await eventually(async () => (await reasons()).includes("MemoryRestored"));
    expect(await reasons()).toContain("MemoryKept");
  });

  it("keeps its memory when it is suspended for inactivity, and goes on with the next request, each time", async () => {
    await using test = await openAwake({ autoSuspension: { inactivityTimeoutSeconds: 2 } });
    for (const times of [1, 2]) {
      expect(await test.asleep()).toMatchObject(kept);
      const { body } = await test.ask();
      expect(JSON.parse(body)).toMatchObject({ boot: test.before.boot, asked: test.before.asked + times });
      expect(await test.lastWake()).toMatchObject({ mode: "Restored" });
    }
  });

  it("starts anew if its spec was edited while it slept, and says why; the first response says that it did", async () => {
    await using test = await openAwake();
    await test.pause(name);
    expect(await test.asleep()).toMatchObject(kept);
    const env = [
      { op: "add", path: "/spec/podTemplate/spec/containers/0/env", value: [{ name: "EDITED", value: "1" }] },
    ];
    await test.run("patch", "sandbox", name, "--type=json", `--patch=${JSON.stringify(env)}`);
    const { body, started } = await test.ask();
    expect(started).toBe("anew");
    expect(JSON.parse(body)).toMatchObject({ boot: expect.not.stringMatching(test.before.boot), asked: 1 });
    expect(await test.lastWake()).toMatchObject({ mode: "Anew", reason: "RunChanged" });
  });

  it("goes on although the agent of its node was killed while it slept", async () => {
    await using test = await openAwake();
    await test.pause(name);
    expect(await test.asleep()).toMatchObject(kept);
    killAgent();
    const { body } = await test.ask();
    expect(JSON.parse(body)).toMatchObject({ boot: test.before.boot, asked: test.before.asked + 1 });
    expect(await test.lastWake()).toMatchObject({ mode: "Restored" });
    await agentIsReady(cluster);
  });

  it("starts anew if its node takes no Pod while it wakes, and says why", async () => {
    await using test = await openAwake();
    await test.pause(name);
    expect(await test.asleep()).toMatchObject(kept);
    await test.run("cordon", nodeName);
    const answer = test.ask();
    const asksForNoMemory = async () => {
      const pod = await test.podOf(name);
      return pod !== undefined && pod.metadata.annotations?.[memoryImageAnnotation] === undefined;
    };
    await eventually(asksForNoMemory).finally(() => test.run("uncordon", nodeName));
    expect(JSON.parse((await answer).body)).toMatchObject({ boot: expect.not.stringMatching(test.before.boot) });
    expect(await test.lastWake()).toMatchObject({ mode: "Anew", reason: "NotScheduled" });
  });

  it("leaves no image on its node when it is deleted while it sleeps", async () => {
    await using test = await openAwake();
    await test.pause(name);
    expect(await test.asleep()).toMatchObject(kept);
    const [image] = await test.images();
    const folder = imageFolder(test.at(name), image.metadata.name);
    expect(existsSync(folder)).toBe(true);
    await test.run("delete", "sandbox", name, "--timeout=60s");
    await eventually(() => !existsSync(join(folder, "..", "..")));
  });

  it("keeps its memory from a Pod that somebody else creates in its name while it sleeps", async () => {
    await using test = await openAwake();
    await test.pause(name);
    expect(await test.asleep()).toMatchObject(kept);
    const [image] = await test.images();
    const annotations = { [memoryImageAnnotation]: image.metadata.name };
    const pod = { ...busyboxPod(name, "sleep 60"), metadata: { name, annotations } };
    await expect(test.apply(pod)).rejects.toThrow("only the controller of sandboxes may set");
    expect(JSON.parse((await test.ask()).body)).toMatchObject({ boot: test.before.boot });
  });

  it("keeps its memory from such a Pod also without the admission policy, and says who asked for it", async () => {
    await using test = await openAwake();
    await test.pause(name);
    expect(await test.asleep()).toMatchObject(kept);
    const [image] = await test.images();
    const { metadata: asked, spec } = busyboxPod(name, "echo begun; sleep 600");
    const annotations = { [memoryImageAnnotation]: image.metadata.name };
    const pod = {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { ...asked, annotations } },
      spec: { ...spec, runtimeClassName: "gvisor", automountServiceAccountToken: false },
    };
    {
      await using _noPolicy = await withoutPodPolicy(cluster);
      await eventually(() =>
        test.apply(pod).then(
          () => true,
          () => false,
        ),
      );
    }
    await eventually(async () => (await test.run("logs", name).catch(() => "")).includes("begun"));
    const uid = await test.run("get", "pod", name, "--output=jsonpath={.metadata.uid}");
    const refused = await eventually(async () => (await test.images())[0]?.status?.refused);
    expect(refused).toMatchObject({ podUID: uid, reason: "NotSigned" });
    await test.run("delete", "pod", name, "--grace-period=1", "--timeout=60s");
    expect(JSON.parse((await test.ask()).body)).toMatchObject({ boot: test.before.boot });
    expect(await test.lastWake()).toMatchObject({ mode: "Restored" });
  });

  it("starts anew if its node has lost the image, and says why", async () => {
    await using test = await openAwake();
    await test.pause(name);
    expect(await test.asleep()).toMatchObject(kept);
    const [image] = await test.images();
    rmSync(imageFolder(test.at(name), image.metadata.name), { recursive: true });
    const { body } = await test.ask();
    expect(JSON.parse(body)).toMatchObject({ boot: expect.not.stringMatching(test.before.boot), asked: 1 });
    const { mode, reason } = await test.lastWake();
    expect(mode).toBe("Anew");
    // The agent may notice before the shim.
    expect(["RestoreRefused", "ImageLost"]).toContain(reason);
  });
});
