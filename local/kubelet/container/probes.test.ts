import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { answering, aScript, conditionOf, idle, openLocalNode } from "../../../test/support/labs/local-node.ts";
import { waiting } from "../../../test/support/waiting.ts";

/** For a probe on a busy machine: a slow answer is not a failure. */
const patient = { timeoutSeconds: 30 };

/** The pipes and sockets of children that this process reads. */
const openPipes = () => process.getActiveResourcesInfo().filter((name) => name === "PipeWrap").length;

const status = (code: number) =>
  `require("http").createServer((_, response) => response.writeHead(${code}).end()).listen(8080, process.env.POD_IP)`;

/** Answers each request with 101, which no probe requests. */
const upgrading = `require("net").createServer((socket) => socket.on("error", () => {}).on("data", () =>
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nconnection: upgrade\\r\\nupgrade: x\\r\\n\\r\\n"))
).listen(8080, process.env.POD_IP)`;

describe("a container with a readiness probe", () => {
  it.each([
    { kind: "httpGet", probe: { httpGet: { port: 8080 } } },
    { kind: "httpGet of a named port", probe: { httpGet: { port: "web" } } },
    { kind: "tcpSocket", probe: { tcpSocket: { port: 8080 } } },
    { kind: "exec", probe: { exec: { command: ["sh", "-c", "test -n $POD_IP"] } } },
  ])("is ready soon after $kind passes, not a whole period later", async ({ probe }) => {
    await using node = await openLocalNode();
    const ports = [{ name: "web", containerPort: 8080 }];
    await node.createPod("nova", {
      containers: [aScript(answering("x"), { ports, readinessProbe: { ...probe, ...patient, periodSeconds: 60 } })],
    });
    await node.podOnce("nova", (pod) => expect(conditionOf(pod, "Ready")?.status).toBe("True"));
  });

  it("is not ready while it switches protocols, and an event reports this", async () => {
    await using node = await openLocalNode();
    const readinessProbe = { httpGet: { port: 8080 }, ...patient, periodSeconds: 1, failureThreshold: 1 };
    await node.createPod("nova", { containers: [aScript(upgrading, { readinessProbe })] });
    const notes = async () => (await node.eventsAbout("nova")).map(({ note }) => note);
    await expect
      .poll(notes, waiting)
      .toContainEqual(expect.stringContaining("the connection was closed without a response"));
  });

  it("is not ready while it responds with an error, and an event has the reason", async () => {
    await using node = await openLocalNode();
    const readinessProbe = { httpGet: { port: 8080 }, ...patient, periodSeconds: 1, failureThreshold: 1 };
    await node.createPod("nova", { containers: [aScript(status(503), { readinessProbe })] });
    await expect
      .poll(async () => (await node.eventsAbout("nova")).map(({ note }) => note), waiting)
      .toContain("Readiness probe failed: HTTP probe failed with statuscode: 503");
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    expect(conditionOf(pod, "Ready")?.status).toBe("False");
  });
});

describe("a container whose exec probe leaves a process behind", () => {
  it("is ready, although that process keeps the output of the probe open", async () => {
    await using node = await openLocalNode();
    const command = ["sh", "-c", "sleep 60 & echo begun"];
    const readinessProbe = { exec: { command }, ...patient, periodSeconds: 60 };
    const before = openPipes();
    await node.createPod("nova", { containers: [aScript(answering("x"), { readinessProbe })] });
    await node.podOnce("nova", (pod) => expect(conditionOf(pod, "Ready")?.status).toBe("True"));
    const ofItsContainer = 2;
    expect(openPipes() - before).toBeLessThanOrEqual(ofItsContainer);
  });
});

describe("a container with a liveness probe", () => {
  it("is restarted when it fails", async () => {
    await using node = await openLocalNode();
    const livenessProbe = { tcpSocket: { port: 1 }, periodSeconds: 1, failureThreshold: 1, initialDelaySeconds: 1 };
    await node.createPod("nova", { containers: [aScript(idle, { livenessProbe })] });
    const pod = await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]?.restartCount).toBe(1),
    );
    expect(pod.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(143);
  });
});

/** Says by gRPC that it serves, and stops saying so after `times` answers. */
const healthy = (times: number) => `let left = ${times};
  require("http2").createServer((_, response) => {
    response.setHeader("content-type", "application/grpc");
    response.addTrailers({ "grpc-status": "0" });
    response.end(Buffer.from([0, 0, 0, 0, 2, 8, left-- > 0 ? 1 : 2]));
  }).listen(8080, process.env.POD_IP)`;

describe("a container with probes of gRPC", () => {
  const grpc = { grpc: { port: 8080 }, ...patient };

  it("is started and ready, and not restarted, while its program says that it serves", async () => {
    await using node = await openLocalNode();
    const probes = {
      startupProbe: { ...grpc, failureThreshold: 10 },
      readinessProbe: grpc,
      livenessProbe: { ...grpc, failureThreshold: 1 },
    };
    await node.createPod("nova", { containers: [aScript(healthy(1_000), probes)] });
    const pod = await node.podOnce("nova", (pod) => expect(conditionOf(pod, "Ready")?.status).toBe("True"));
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({ started: true, ready: true, restartCount: 0 });
  });

  it("is restarted once its program says that it does not serve", async () => {
    await using node = await openLocalNode();
    const livenessProbe = { ...grpc, periodSeconds: 1, failureThreshold: 1 };
    const startupProbe = { ...grpc, failureThreshold: 10 };
    await node.createPod("nova", { containers: [aScript(healthy(1), { startupProbe, livenessProbe })] });
    await node.podOnce("nova", ({ status }) => expect(status?.containerStatuses?.[0]?.restartCount).toBe(1));
    const notes = async () => (await node.eventsAbout("nova")).map(({ note }) => note);
    const failed = 'Liveness probe failed: service unhealthy (responded with "NOT_SERVING")';
    await expect.poll(notes, waiting).toContain(failed);
  });
});

describe("a container with a startup probe", () => {
  it("runs no other probe before that one passes", async () => {
    await using node = await openLocalNode();
    const probes = {
      startupProbe: { httpGet: { port: 8080 }, ...patient, failureThreshold: 10 },
      livenessProbe: { tcpSocket: { port: 8080 }, ...patient, failureThreshold: 1 },
    };
    await using dir = await mkdtempDisposable(join(tmpdir(), "rouse-probe-"));
    const go = join(dir.path, "go");
    const slow = `const wait = setInterval(() => {
      if (!require("fs").existsSync(${JSON.stringify(go)})) return;
      clearInterval(wait);
      ${answering("late")};
    }, 20)`;
    await node.createPod("nova", { containers: [aScript(slow, probes)] });
    const starting = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Running"));
    expect(starting.status?.containerStatuses?.[0]).toMatchObject({ started: false, ready: false });
    await writeFile(go, "");
    const pod = await node.podOnce("nova", (pod) => expect(conditionOf(pod, "Ready")?.status).toBe("True"));
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({ started: true, ready: true, restartCount: 0 });
  });

  it("is restarted when that never passes", async () => {
    await using node = await openLocalNode();
    const startupProbe = { tcpSocket: { port: 1 }, periodSeconds: 1, failureThreshold: 1 };
    await node.createPod("nova", { containers: [aScript(idle, { startupProbe })] });
    await node.podOnce("nova", ({ status }) => expect(status?.containerStatuses?.[0]?.restartCount).toBe(1));
  });
});
