import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { aScript, idle, openLocalNode, readPodLog } from "../../../test/support/labs/local-node.ts";
import { groupMembers } from "./every-address-watch.ts";
import { readProcess } from "./proc.ts";

const listening = (address: string, port = 0) =>
  `require("net").createServer().listen(${port}, ${JSON.stringify(address)}); ${idle}`;

/** A port without a listener. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address ? address.port : 0;
}

describe.runIf(process.platform === "linux")("a program that listens on every address", () => {
  it.each(["0.0.0.0", "::"])("(%s) is ended, and its Pod's status has the remedy", async (address) => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript(listening(address))] });
    const pod = await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("CrashLoopBackOff"),
    );
    const [status] = pod.status?.containerStatuses ?? [];
    expect(status?.restartCount).toBe(0);
    expect(status?.lastState?.terminated?.reason).toBe("BindsEveryAddress");
    expect(status?.lastState?.terminated?.message).toContain("bind it to $(POD_IP) instead");
    expect(status?.state?.waiting?.message).toContain("bind it to $(POD_IP) instead");
    await expect
      .poll(async () => (await node.eventsAbout("nova")).map(({ reason }) => reason))
      .toContain("BindsEveryAddress");
  });

  it("is found and ended in a child that has left the process group", async () => {
    await using node = await openLocalNode();
    const script = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(listening("0.0.0.0"))}], { detached: true }).on("spawn", function () { console.log(this.pid); }); ${idle}`;
    await node.createPod("nova", { restartPolicy: "Never", containers: [aScript(script)] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Failed"));
    expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.reason).toBe("BindsEveryAddress");
    const child = Number(await readPodLog(node, pod));
    await expect.poll(async () => (await readProcess(child))?.zombie ?? true).toBe(true);
  });

  it("is never ready, even when its probe passes", async () => {
    await using node = await openLocalNode();
    const port = await freePort();
    const readinessProbe = { tcpSocket: { port } };
    const containers = [aScript(listening("0.0.0.0", port), { readinessProbe })];
    await node.createPod("nova", { restartPolicy: "Never", containers });
    const seen: boolean[] = [];
    await node.podOnce("nova", ({ status }) => {
      seen.push(status?.containerStatuses?.[0]?.ready ?? false);
      expect(status?.phase).toBe("Failed");
    });
    expect(seen).not.toContain(true);
  });
});

describe("the group of a process", () => {
  const facts = (pid: number, parentPid: number, groupId: number, sessionId: number) => ({
    pid,
    parentPid,
    groupId,
    sessionId,
    startTicks: 1,
    zombie: false,
  });

  it("is determined by process group, session and ancestors", () => {
    const processes = [
      facts(1, 0, 1, 1),
      facts(10, 1, 10, 10),
      facts(11, 10, 10, 10),
      facts(12, 1, 12, 10),
      facts(13, 11, 13, 13),
      facts(20, 1, 20, 20),
    ];
    expect([...groupMembers(processes, new Set([10]))]).toEqual([
      [10, 10],
      [11, 10],
      [12, 10],
      [13, 10],
    ]);
  });
});
