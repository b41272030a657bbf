import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { daemonEnvironments } from "../../../test/support/labs/daemon-environments.ts";
import { aScript, idle, openLocalNode, readPodLog } from "../../../test/support/labs/local-node.ts";
import { Containment } from "./containment.ts";
import { EveryAddressWatch, type FoundListener, groupMembers } from "./every-address-watch.ts";
import { readProcess } from "./proc.ts";
import { startProcess } from "./process.ts";

const listening = (address: string, port = 0) =>
  `require("net").createServer().listen(${port}, ${JSON.stringify(address)}); ${idle}`;

/** Becomes a daemon as `daemon(3)` does: a grandchild with a session of its own, which goes on once its parent has ended. */
function daemonizing(script: string, environment: "kept" | "cleared"): string {
  const env = environment === "kept" ? "process.env" : "{}";
  const start = (child: string, then: string) =>
    `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(child)}, String(process.pid)], { detached: true, stdio: "inherit", env: ${env} })${then};`;
  const orphaned = `
    const timer = setInterval(() => {
      if (process.ppid === Number(process.argv[1])) return;
      clearInterval(timer);
      console.log("daemon " + process.pid);
      ${script}
    }, 10);`;
  return `${start(start(orphaned, `.on("spawn", () => process.exit(0))`), "")} ${idle}`;
}

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

  it.each(daemonEnvironments())("is found and ended in a daemon (environment: %s)", async (environment) => {
    await using node = await openLocalNode();
    const script = daemonizing(listening("0.0.0.0"), environment);
    await node.createPod("nova", { restartPolicy: "Never", containers: [aScript(script)] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Failed"));
    expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.reason).toBe("BindsEveryAddress");
    const daemon = Number(/daemon (\d+)/.exec(await readPodLog(node, pod))?.[1]);
    expect((await readProcess(daemon))?.zombie ?? true).toBe(true);
  });

  it("is found in a process that one check has missed", async () => {
    using watch = new EveryAddressWatch(new FakeClock());
    const port = await freePort();
    const found: FoundListener[] = [];
    const { PATH = "" } = process.env;
    const launch = { program: process.execPath, environment: { PATH }, workingDirectory: "/" };
    const script = `require("net").createServer().listen(${port}, "0.0.0.0", () => console.log("up"));`;
    const group = await startProcess({ ...launch, argv: ["node", "-e", script] });
    try {
      await once(group.stdout, "data");
      // A check reads the sockets only if it watches a group.
      const containment = Containment.plan();
      using _other = watch.watch({ groupId: 1 << 30, containment }, () => {});
      await watch.check();
      using _own = watch.watch({ groupId: group.pid, containment }, (listener) => found.push(listener));
      await watch.check();
      expect(found).toEqual([{ port, pids: [group.pid] }]);
    } finally {
      group.signal("SIGKILL");
      await group.exited;
    }
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
