import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { persistentVolumeClaimType, podType } from "../../../api/kinds/core.ts";
import { answering, aScript, idle, openLocalNode, readPodLog } from "../../../test/support/labs/local-node.ts";
import { readProcess } from "../process/proc.ts";

const where = { namespace: "default", name: "nova" };
const printsPid = `console.log("pid", process.pid); ${idle}`;

describe("a restarted runtime", () => {
  it("has left no process behind, and keeps the Pods", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript(printsPid)] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    await expect.poll(() => readPodLog(node, pod), { timeout: 10_000 }).toContain("pid");
    const pid = Number(/pid (\d+)/.exec(await readPodLog(node, pod))?.[1]);
    await node.stop();
    expect(await readProcess(pid)).toBeUndefined();
    const kept = await node.client.get(podType, where);
    expect(kept.metadata.deletionTimestamp).toBeUndefined();
  });

  it("starts the containers of the same Pods again at the same address, and counts it", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript(answering("hello"))] });
    const before = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    await node.restart();
    const after = await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]).toMatchObject({ restartCount: 1, state: { running: {} } }),
    );
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(after.status?.podIP).toBe(before.status?.podIP);
    expect(after.status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({
      exitCode: 255,
      reason: "Unknown",
    });
  });

  it("does not restart a container whose policy forbids it", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { restartPolicy: "Never", containers: [aScript(idle)] });
    await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    await node.restart();
    await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Failed"));
  });

  it("keeps the deadline of a Pod, counted from a start as an API server accepts it, with a comma", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { activeDeadlineSeconds: 3_600, containers: [aScript(idle)] });
    await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    await node.stop();
    const body = { status: { startTime: "2026-01-01T00:00:00,5Z" } };
    await node.client.patch(podType, where, { type: "merge", body }, { subresource: "status" });
    await node.restart();
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Failed"));
    expect(pod.status?.reason).toBe("DeadlineExceeded");
  });

  it("leaves files alone that it did not create", async () => {
    await using node = await openLocalNode();
    await node.stop();
    const foreign = ["logs/2025/ledger.log", "pods/archive/notes.txt", "processes/thesis.md", "volumes/old.deleted/f"];
    for (const file of foreign) {
      await mkdir(join(node.dataDir, dirname(file)), { recursive: true });
      await writeFile(join(node.dataDir, file), "not yours");
    }
    await node.restart();
    const found = await Promise.all(foreign.map((file) => readFile(join(node.dataDir, file), "utf8")));
    expect(found).toEqual(foreign.map(() => "not yours"));
  });

  it("removes what programs left of such Pods, also folders that forbid to write or to enter", async () => {
    await using node = await openLocalNode();
    const script = `
      fs.mkdirSync("mod/cache", { recursive: true });
      fs.writeFileSync("mod/cache/go.mod", "");
      for (const folder of ["mod/cache", "mod", "."]) fs.chmodSync(folder, folder === "." ? 0 : 0o555);
      ${printsPid}`;
    await node.createPod("nova", { containers: [aScript(script)] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    await expect.poll(() => readPodLog(node, pod), { timeout: 10_000 }).toContain("pid");
    await node.stop();
    await node.client.delete(podType, where);
    await node.restart();
    await node.gone("nova");
    await expect.poll(() => readdir(join(node.dataDir, "pods")), { timeout: 10_000 }).toEqual([]);
  });

  it("removes Pods that were deleted while it was down", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript(idle)] });
    await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    await node.stop();
    await node.client.delete(podType, where);
    await node.restart();
    await node.gone("nova");
    await expect.poll(() => readdir(join(node.dataDir, "pods"))).toEqual([]);
  });

  it("after kill -9 ends the orphaned processes, and starts them again", async () => {
    await using node = await openLocalNode({ started: false });
    const program = fileURLToPath(new URL("../../../test/support/kubelet-program.ts", import.meta.url));
    const runtime = spawn(process.execPath, [program, node.url, node.dataDir], { stdio: "inherit" });
    const ended = once(runtime, "exit");
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } };
    const claim = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { namespace: "default", name: "data" } };
    await node.client.create(persistentVolumeClaimType, { ...claim, spec });
    const script = `require("fs").appendFileSync("pids", process.pid + "\\n"); ${answering("alive")}`;
    await node.createPod("nova", {
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
      containers: [aScript(script, { workingDir: "/data", volumeMounts: [{ name: "data", mountPath: "/data" }] })],
    });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    const url = `http://${pod.status?.podIP}:8080/`;
    const answer = () =>
      fetch(url).then(
        (response) => response.text(),
        () => undefined,
      );
    await expect.poll(answer, { timeout: 10_000 }).toBe("alive");
    runtime.kill("SIGKILL");
    await ended;
    expect(await answer()).toBe("alive");

    await node.restart();
    await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]).toMatchObject({ restartCount: 1, state: { running: {} } }),
    );
    await expect.poll(answer, { timeout: 10_000 }).toBe("alive");
    const [volume = ""] = await readdir(join(node.dataDir, "volumes"));
    const pids = (await readFile(join(node.dataDir, "volumes", volume, "pids"), "utf8")).trim().split("\n").map(Number);
    expect(pids).toHaveLength(2);
    const [stray, current] = await Promise.all(pids.map((pid) => readProcess(pid)));
    expect(stray?.zombie ?? true).toBe(true);
    expect(current?.zombie).toBe(false);
  });
});
