import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Pod } from "../../../api/kinds/core.ts";
import { podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { ApiUnreachable } from "../../../kube/client/errors.ts";
import { interceptCalls } from "../../../test/support/fakes/intercepted-client.ts";
import { aScript, idle, type LocalNode, openLocalNode, readPodLog } from "../../../test/support/labs/local-node.ts";
import { readProcess } from "../process/proc.ts";

const where = { namespace: "default", name: "nova" };

/** Waits until the Pod's program has printed that it is up. */
async function upPod(node: LocalNode, script: string, spec: object = {}): Promise<Stored<Pod>> {
  await node.createPod("nova", { containers: [aScript(`${script}; console.log("up", process.pid)`)], ...spec });
  const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
  await expect.poll(() => readPodLog(node, pod), { timeout: 10_000 }).toContain("up");
  return pod;
}

async function pidOf(node: LocalNode, pod: Stored<Pod>): Promise<number> {
  return Number(/up (\d+)/.exec(await readPodLog(node, pod))?.[1]);
}

async function lives(pid: number): Promise<boolean> {
  const facts = await readProcess(pid);
  return facts !== undefined && !facts.zombie;
}

/** The last reported status of the Pod before its deletion. */
async function lastSeen(
  node: LocalNode,
  pod: Stored<Pod>,
  act: () => Promise<unknown>,
): Promise<Stored<Pod> | undefined> {
  const stop = new AbortController();
  const { resourceVersion } = pod.metadata;
  const events = node.client.watch(podType, { namespace: "default", resourceVersion }, stop.signal);
  await act();
  for await (const event of events) {
    if (event.type === "DELETED") return event.object;
  }
  return undefined;
}

describe("a Pod that is deleted", () => {
  it("gets SIGTERM, and is gone when its program has ended", async () => {
    await using node = await openLocalNode();
    const pod = await upPod(node, `process.on("SIGTERM", () => process.exit(0)); ${idle}`);
    const pid = await pidOf(node, pod);
    const last = await lastSeen(node, pod, () => node.client.delete(podType, where));
    expect(last?.status?.phase).toBe("Succeeded");
    expect(await lives(pid)).toBe(false);
  });

  it("gets SIGKILL when it has not ended within its grace period", async () => {
    await using node = await openLocalNode();
    const pod = await upPod(node, `process.on("SIGTERM", () => {}); ${idle}`, { terminationGracePeriodSeconds: 1 });
    const last = await lastSeen(node, pod, () => node.client.delete(podType, where));
    expect(last?.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 137, reason: "Error" });
    expect(last?.status?.phase).toBe("Failed");
    expect(last?.status?.podIP).toBe(pod.status?.podIP);
  });

  it("ends its whole process group, grandchildren too", async () => {
    await using node = await openLocalNode();
    const stubborn = `process.on("SIGTERM", () => {}); ${idle}`;
    const script = `
      const child = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(stubborn)}]);
      child.on("spawn", () => console.log("child " + child.pid)); ${idle}`;
    const pod = await upPod(node, script);
    await expect.poll(() => readPodLog(node, pod), { timeout: 10_000 }).toContain("child");
    const child = Number(/child (\d+)/.exec(await readPodLog(node, pod))?.[1]);
    await node.client.delete(podType, where);
    await node.gone("nova");
    await expect.poll(() => lives(child)).toBe(false);
  });

  it("runs its preStop hook before SIGTERM", async () => {
    await using node = await openLocalNode();
    const mark = `require("fs").writeFileSync(process.env.MARK, "")`;
    const script = `process.on("SIGTERM", () => process.exit(require("fs").existsSync(process.env.MARK) ? 0 : 1)); ${idle}`;
    const container = aScript(`${script}; console.log("up", process.pid)`, {
      env: [{ name: "MARK", value: `${node.dataDir}/mark` }],
      lifecycle: { preStop: { exec: { command: [process.execPath, "-e", mark] } } },
    });
    const pod = await upPod(node, "", { containers: [container] });
    const last = await lastSeen(node, pod, () => node.client.delete(podType, where));
    expect(last?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(0);
  });

  it("by force is gone at once, and its program soon after", async () => {
    await using node = await openLocalNode();
    const pod = await upPod(node, `process.on("SIGTERM", () => {}); ${idle}`);
    const pid = await pidOf(node, pod);
    await node.client.delete(podType, where, { gracePeriodSeconds: 0 });
    await node.gone("nova");
    await expect.poll(() => lives(pid), { timeout: 5_000 }).toBe(false);
  });

  it("while its program crashes in a loop is gone at once", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript("process.exit(1)")] });
    await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("CrashLoopBackOff"),
    );
    await node.client.delete(podType, where);
    await node.gone("nova");
  });

  it("makes room for another one of the same name", async () => {
    await using node = await openLocalNode();
    const first = await upPod(node, idle);
    await node.client.delete(podType, where, { gracePeriodSeconds: 0 });
    const second = await upPod(node, idle);
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect(second.status?.podIP).not.toBe(first.status?.podIP);
  });

  it("leaves no folder behind when another one gets its name at once", async () => {
    await using node = await openLocalNode();
    const first = await upPod(node, idle);
    await node.client.delete(podType, where, { gracePeriodSeconds: 0 });
    await node.createPod("nova", { containers: [aScript(idle)] });
    await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    for (const folder of ["pods", "logs"]) {
      const left = () => readdir(join(node.dataDir, folder));
      await expect.poll(left, { timeout: 10_000 }).not.toContain(first.metadata.uid);
    }
  });

  it("leaves no folder behind when its status cannot be written any more", async () => {
    let refuses = false;
    await using node = await openLocalNode({
      clientOf: (client) =>
        interceptCalls(client, async (call, proceed) => {
          if (refuses && call.verb === "patch" && call.kind === "Pod") throw new ApiUnreachable("refused");
          return proceed();
        }),
    });
    const pod = await upPod(node, idle);
    refuses = true;
    await node.client.delete(podType, where, { gracePeriodSeconds: 0 });
    const left = () => readdir(join(node.dataDir, "pods"));
    await expect.poll(left, { timeout: 10_000 }).not.toContain(pod.metadata.uid);
  });
});

it("a program that ends leaves no grandchild behind", async () => {
  await using node = await openLocalNode();
  const script = `
    const child = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(idle)}], { stdio: "ignore" });
    child.on("spawn", () => { console.log("child " + child.pid); process.exit(0); });`;
  await node.createPod("nova", { restartPolicy: "Never", containers: [aScript(script)] });
  const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Succeeded"));
  const child = Number(/child (\d+)/.exec(await readPodLog(node, pod))?.[1]);
  expect(child).toBeGreaterThan(1);
  await expect.poll(() => lives(child)).toBe(false);
});
