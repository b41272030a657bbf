import { describe, expect, it } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { answering, aScript, conditionOf, idle, openLocalNode } from "../../../test/support/labs/local-node.ts";

const running = { phase: "Running" };

describe("a Pod on the local node", () => {
  it("runs its command as a process that answers on the Pod's own address", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript(answering("hello"))] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status).toMatchObject(running));
    expect(pod.spec?.nodeName).toBe("local");
    expect(pod.status?.podIP).toMatch(/^127\./);
    await expect.poll(() => fetchText(`http://${pod.status?.podIP}:8080/`), { timeout: 10_000 }).toBe("hello");
  });

  it("reports every condition with its reason", async () => {
    await using node = await openLocalNode();
    const neverReady = { readinessProbe: { tcpSocket: { port: 1 } } };
    await node.createPod("nova", { containers: [aScript(idle, neverReady)] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status).toMatchObject(running));
    const conditions = pod.status?.conditions?.map(({ type, status, reason, message }) => ({
      type,
      status,
      reason,
      message,
    }));
    const unready = {
      status: "False",
      reason: "ContainersNotReady",
      message: "containers with unready status: [main]",
    };
    expect(conditions).toEqual([
      { type: "PodReadyToStartContainers", status: "True" },
      { type: "Initialized", status: "True" },
      { type: "Ready", ...unready },
      { type: "ContainersReady", ...unready },
      { type: "PodScheduled", status: "True" },
    ]);
  });

  it("runs on and says so again if another client writes that it has succeeded", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript(idle)] });
    await node.podOnce("nova", ({ status }) => expect(status).toMatchObject(running));
    const succeeded = { type: "merge", body: { status: { phase: "Succeeded" } } } as const;
    const where = { namespace: "default", name: "nova" };
    const { metadata } = await node.client.patch(podType, where, succeeded, { subresource: "status" });
    await node.podOnce("nova", (pod) => {
      expect(pod.metadata.resourceVersion).not.toBe(metadata.resourceVersion);
      expect(pod.status).toMatchObject(running);
    });
  });

  it("is not written to any more once it is at rest", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript(idle)] });
    const ready = await node.podOnce("nova", (pod) => expect(conditionOf(pod, "Ready")?.status).toBe("True"));
    await node.createPod("other", { containers: [aScript(idle)] });
    await node.podOnce("other", (pod) => expect(conditionOf(pod, "Ready")?.status).toBe("True"));
    const later = await node.client.get(podType, { namespace: "default", name: "nova" });
    expect(later.metadata.resourceVersion).toBe(ready.metadata.resourceVersion);
  });

  it("has an address of its own, so that two Pods can listen on one port", async () => {
    await using node = await openLocalNode();
    for (const name of ["one", "two"]) await node.createPod(name, { containers: [aScript(answering(name))] });
    for (const name of ["one", "two"]) {
      const pod = await node.podOnce(name, ({ status }) => expect(status).toMatchObject(running));
      await expect.poll(() => fetchText(`http://${pod.status?.podIP}:8080/`), { timeout: 10_000 }).toBe(name);
    }
  });

  it("waits for its readiness gates", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", {
      containers: [aScript(idle)],
      readinessGates: [{ conditionType: "example.com/go" }],
    });
    await node.podOnce("nova", (pod) =>
      expect(conditionOf(pod, "Ready")).toMatchObject({ status: "False", reason: "ReadinessGatesNotReady" }),
    );
    const body = { status: { conditions: [{ type: "example.com/go", status: "True" }] } };
    const where = { namespace: "default", name: "nova" };
    await node.client.patch(podType, where, { type: "strategic", body }, { subresource: "status" });
    const pod = await node.podOnce("nova", (pod) => expect(conditionOf(pod, "Ready")?.status).toBe("True"));
    expect(conditionOf(pod, "Ready")?.reason).toBeUndefined();
    expect(conditionOf(pod, "example.com/go")?.status).toBe("True");
  });

  it.each([
    { restartPolicy: "Never", code: 0, phase: "Succeeded", reason: "Completed" },
    { restartPolicy: "Never", code: 3, phase: "Failed", reason: "Error" },
    { restartPolicy: "OnFailure", code: 0, phase: "Succeeded", reason: "Completed" },
  ])("with $restartPolicy and exit code $code has $phase", async ({ restartPolicy, code, phase, reason }) => {
    await using node = await openLocalNode();
    await node.createPod("nova", { restartPolicy, containers: [aScript(`process.exit(${code})`)] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe(phase));
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode: code, reason } },
    });
  });

  it("restarts a container at once the first time, and then reports CrashLoopBackOff", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript("process.exit(7)")] });
    const pod = await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("CrashLoopBackOff"),
    );
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      state: {
        waiting: {
          message: expect.stringMatching(/^back-off 10s restarting failed container=main pod=nova_default\(/),
        },
      },
      lastState: { terminated: { exitCode: 7, reason: "Error" } },
    });
    expect(pod.status?.phase).toBe("Running");
  });

  it("runs init containers one after the other before the rest", async () => {
    await using node = await openLocalNode();
    const append = (text: string) =>
      `require("fs").appendFileSync(process.env.ROUSE_VOLUME_SHARED + "/log", "${text}")`;
    await node.createPod("nova", {
      restartPolicy: "Never",
      volumes: [{ name: "shared", emptyDir: {} }],
      initContainers: [aScript(append("a"), { name: "first" }), aScript(append("b"), { name: "second" })],
      containers: [
        aScript(
          `process.exit(require("fs").readFileSync(process.env.ROUSE_VOLUME_SHARED + "/log", "utf8") === "ab" ? 0 : 1)`,
        ),
      ],
    });
    const pod = await node.podOnce("nova", ({ status }) => expect(["Succeeded", "Failed"]).toContain(status?.phase));
    expect(pod.status?.phase).toBe("Succeeded");
    expect(pod.status?.initContainerStatuses?.map(({ state }) => state?.terminated?.exitCode)).toEqual([0, 0]);
  });

  it("has failed when an init container fails and may not try again", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", {
      restartPolicy: "Never",
      initContainers: [aScript("process.exit(1)", { name: "first" })],
      containers: [aScript(idle)],
    });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Failed"));
    expect(conditionOf(pod, "Initialized")).toMatchObject({ status: "False", reason: "ContainersNotInitialized" });
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("PodInitializing");
  });

  it("keeps a sidecar running beside its containers and ends it after them", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", {
      restartPolicy: "Never",
      initContainers: [aScript(answering("sidecar"), { name: "sidecar", restartPolicy: "Always" })],
      containers: [
        aScript(`
          const ask = () => fetch("http://" + process.env.POD_IP + ":8080/").then(() => process.exit(0), () => setTimeout(ask, 20));
          ask();`),
      ],
    });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Succeeded"));
    expect(pod.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(143);
  });

  it("has failed after its activeDeadlineSeconds", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { activeDeadlineSeconds: 1, containers: [aScript(idle)] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Failed"));
    expect(pod.status?.reason).toBe("DeadlineExceeded");
  });

  it("emits events", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { containers: [aScript(idle)] });
    await node.podOnce("nova", ({ status }) => expect(status).toMatchObject(running));
    await node.client.delete(podType, { namespace: "default", name: "nova" });
    await node.gone("nova");
    await expect
      .poll(async () => (await node.eventsAbout("nova")).map(({ reason }) => reason).sort())
      .toEqual(["Killing", "Scheduled", "Started"]);
  });
});

async function fetchText(url: string): Promise<string | undefined> {
  const response = await fetch(url).catch(() => undefined);
  return response?.text();
}
