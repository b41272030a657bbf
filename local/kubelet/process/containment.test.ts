import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { daemonEnvironments } from "../../../test/support/labs/daemon-environments.ts";
import { aScript, idle, type LocalNode, openLocalNode, readPodLog } from "../../../test/support/labs/local-node.ts";
import { Containment } from "./containment.ts";
import { readBootId, readProcess } from "./proc.ts";

const where = { namespace: "default", name: "nova" };

async function lives(pid: number): Promise<boolean> {
  const facts = await readProcess(pid);
  return facts !== undefined && !facts.zombie;
}

/** Starts a child with a session of its own that outlives its parent, and prints its pid. */
const startsDaemon = (environment: "kept" | "cleared", then: string) => `
  const child = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(idle)}], {
    detached: true, stdio: "ignore", env: ${environment === "kept" ? "process.env" : "{}"} });
  child.unref();
  child.on("spawn", () => { console.log("daemon " + child.pid + " of " + process.pid); ${then} });`;

async function daemonOf(node: LocalNode, script: string): Promise<number> {
  await node.createPod("nova", { restartPolicy: "Never", containers: [aScript(script)] });
  const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).not.toBe("Pending"));
  await expect.poll(() => readPodLog(node, pod), { timeout: 10_000 }).toContain("daemon");
  return Number(/daemon (\d+)/.exec(await readPodLog(node, pod))?.[1]);
}

describe("a daemon with a session of its own", () => {
  it.each(daemonEnvironments())(
    "is gone when its container has ended by itself (environment: %s)",
    async (environment) => {
      await using node = await openLocalNode();
      const pid = await daemonOf(node, startsDaemon(environment, "process.exit(0);"));
      await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Succeeded"));
      expect(await lives(pid)).toBe(false);
    },
  );

  it.each(daemonEnvironments())("is gone before its Pod is (environment: %s)", async (environment) => {
    await using node = await openLocalNode();
    const pid = await daemonOf(node, `${startsDaemon(environment, "")} ${idle}`);
    expect(await lives(pid)).toBe(true);
    await node.client.delete(podType, where, { gracePeriodSeconds: 0 });
    await expect.poll(() => lives(pid)).toBe(false);
    await node.gone("nova");
  });

  it("of a hook is gone when its container has ended", async () => {
    await using node = await openLocalNode();
    const container = aScript(`console.log("up"); ${idle}`, {
      lifecycle: {
        preStop: { exec: { command: [process.execPath, "-e", startsDaemon("kept", "process.exit(0);")] } },
      },
    });
    await node.createPod("nova", { containers: [container] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    await expect.poll(() => readPodLog(node, pod), { timeout: 10_000 }).toContain("up");
    const mark = await markOf(pod.metadata.uid, node);
    await node.client.delete(podType, where);
    await node.gone("nova");
    expect((await Containment.find({ mark }).end(systemClock)).killed).toBe(0);
  });
});

/** The mark of the only container of a Pod, from its record on disk. */
async function markOf(podUid: string, node: LocalNode): Promise<string> {
  const directory = `${node.dataDir}/processes`;
  const [file = ""] = (await readdir(directory)).filter((name) => name.includes(podUid));
  return JSON.parse(await readFile(`${directory}/${file}`, "utf8")).mark;
}

it("without a cgroup, only processes with the mark of a container are found and killed", async () => {
  const mark = "00000000-1111-4222-8333-444444444444";
  const start = (value: string) =>
    spawn(process.execPath, ["-e", idle], { detached: true, stdio: "ignore", env: { ROUSE_CONTAINER_RUN: value } });
  const [marked, other] = [start(mark), start("00000000-1111-4222-8333-555555555555")];
  const pids = [marked.pid ?? 0, other.pid ?? 0] as const;
  const containment = Containment.find({ mark });
  expect([...(await Containment.membersOf([containment]))]).toEqual([[pids[0], containment]]);
  expect(await containment.end(systemClock)).toEqual({ killed: 1, left: [] });
  expect(await lives(pids[0])).toBe(false);
  expect(await lives(pids[1])).toBe(true);
  other.kill("SIGKILL");
});

it("a daemon that an earlier runtime left behind is ended by the next one", async () => {
  await using node = await openLocalNode();
  const pid = await daemonOf(node, `${startsDaemon("kept", "")} ${idle}`);
  const { uid } = (await node.client.get(podType, where)).metadata;
  const mark = await markOf(uid, node);
  await node.stop();
  expect(await lives(pid)).toBe(false);
  // The remains of a killed runtime: a record, and a process that has left the group of its container.
  const stray = spawn(process.execPath, ["-e", idle], {
    ...({ detached: true, stdio: "ignore" } as const),
    env: { ROUSE_CONTAINER_RUN: mark },
  });
  const bootId = (await readBootId()) ?? "";
  const record = { pid: 4_194_303, program: "gone", startTicks: 1, bootId, mark };
  await writeFile(`${node.dataDir}/processes/${randomUUID()}_stray.json`, JSON.stringify(record));
  await node.restart();
  expect(await lives(stray.pid ?? 0)).toBe(false);
});
