import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { eventType, serviceType } from "../../api/kinds/core.ts";
import { type AutoSuspension, sandboxType } from "../../api/kinds/sandbox.ts";
import { isSuspensionComplete } from "../../api/rules/suspension.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { eventually } from "../support/eventually.ts";
import { ask, clientOf, LocalMode, type Ready } from "../support/labs/local-mode.ts";

/** The idle time here, and the time that the sandbox works without a byte, which is longer by more than a check of the controller. */
const idleSeconds = 2;
const workMs = 6_000;

/** A program that works without output before each answer: by HTTP, on a WebSocket, and on a raw connection. */
const program = `
const { createServer } = require("http");
const later = (done) => setTimeout(done, ${workMs});
createServer((request, response) => {
  request.resume();
  if (request.url === "/events") {
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: begun\\n\\n");
    later(() => response.end("data: result\\n\\n"));
  } else if (request.url !== "/never") response.end("ok");
}).on("upgrade", (_, socket) => {
  socket.on("error", () => {});
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n" +
    "Sec-WebSocket-Accept: " + accept(_.headers["sec-websocket-key"]) + "\\r\\n\\r\\n");
  socket.once("data", () => later(() => socket.write(Buffer.from([0x81, 4, ...Buffer.from("done")]))));
}).listen(8888, process.env.POD_IP);
const accept = (key) => require("crypto").createHash("sha1")
  .update(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
require("net").createServer({ allowHalfOpen: true }, (socket) => {
  socket.on("error", () => {});
  let asked = "";
  socket.on("data", (bytes) => {
    asked += bytes;
    if (asked.endsWith(";")) later(() => socket.write("answer of " + process.pid));
  });
  socket.on("end", () => later(() => socket.end(" bye")));
}).listen(5432, process.env.POD_IP);
`;

let local: LocalMode;
let ready: Ready;
let client: KubeClient & AsyncDisposable;
beforeAll(async () => {
  local = new LocalMode();
  ready = await local.start("--no-example");
  client = clientOf(ready);
}, 60_000);
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
});

/** A sandbox that has answered a request. */
async function aSandbox(name: string, autoSuspension: AutoSuspension = {}): Promise<string> {
  const env = [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }];
  const ports = [
    { name: "http", containerPort: 8888 },
    { name: "raw", containerPort: 5432 },
  ];
  const container = { name: "main", image: "any", command: [process.execPath, "-e", program], env, ports };
  await client.create(sandboxType, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name, namespace: "default" },
    spec: {
      service: true,
      autoSuspension: { inactivityTimeoutSeconds: idleSeconds, ...autoSuspension },
      podTemplate: { spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
    },
  });
  expect((await ask(ready, name, "/")).body).toBe("ok");
  return name;
}

const sandbox = (name: string) => client.get(sandboxType, { namespace: "default", name });
const untilAsleep = (name: string) => eventually(async () => isSuspensionComplete(await sandbox(name)), 30_000, 200);

/** The idle seconds before the suspension, by its event. */
async function idleWhenSuspended(name: string): Promise<number> {
  await untilAsleep(name);
  const { items } = await client.list(eventType, { namespace: "default" });
  const idle = items.find(({ reason, regarding }) => reason === "SandboxIdle" && regarding?.name === name);
  return Number(/^idle for (\d+)s$/.exec(idle?.note ?? "")?.[1]);
}

/** A raw connection to the Service, which may not be served yet. */
async function rawConnection(name: string): Promise<{ readonly socket: Socket; readonly heard: Promise<string> }> {
  const address = async () => (await client.get(serviceType, { namespace: "default", name })).spec?.clusterIP;
  await eventually(async () => (await address().catch(() => undefined))?.startsWith("127."), 10_000);
  const host = (await address()) ?? "";
  for (;;) {
    const socket = connect({ host, port: 5432, allowHalfOpen: true }).setEncoding("latin1");
    const isOpen = await new Promise<boolean>((resolve) =>
      socket.once("connect", () => resolve(true)).on("error", () => resolve(false)),
    );
    if (!isOpen) {
      await delay(50);
      continue;
    }
    let text = "";
    socket.on("data", (more: string) => {
      text += more;
    });
    const heard = new Promise<string>((resolve) =>
      socket.once("end", () => socket.end()).once("close", () => resolve(text)),
    );
    return { socket, heard };
  }
}

describe.concurrent("a sandbox that works without output for longer than the idle time", () => {
  it("is not cut while a raw connection waits for its answer, and is suspended after that", async () => {
    const name = await aSandbox("query");
    const { socket, heard } = await rawConnection(name);
    socket.write("select pg_sleep;");
    // The connection is idle after its answer, and is closed cleanly at the suspension.
    expect(await heard).toMatch(/^answer of \d+$/);
    expect(await idleWhenSuspended(name)).toBeLessThan(workMs / 1_000);
  }, 60_000);

  it("is not cut while a client that has closed its side waits for its answer", async () => {
    const name = await aSandbox("half");
    const { socket, heard } = await rawConnection(name);
    socket.end("echo job | nc");
    expect(await heard).toBe(" bye");
    await untilAsleep(name);
  }, 60_000);

  it("is cut if unansweredLimitSeconds is 0", async () => {
    const name = await aSandbox("off", { unansweredLimitSeconds: 0 });
    const { socket, heard } = await rawConnection(name);
    // The sandbox waits for the rest of the query, and so answers nothing, however long its suspension takes.
    socket.write("select pg_sleep");
    expect(await heard).toBe("");
    await untilAsleep(name);
  }, 60_000);

  it("is cut once unansweredLimitSeconds and the idle time have passed", async () => {
    const name = await aSandbox("limited", { unansweredLimitSeconds: 2 });
    const { socket, heard } = await rawConnection(name);
    const sentMs = performance.now();
    socket.write("no answer comes to this");
    expect(await heard).toBe("");
    expect(performance.now() - sentMs).toBeGreaterThan(4_000);
    await untilAsleep(name);
  }, 60_000);

  it("is not cut while a message on a WebSocket waits for its answer", async () => {
    const name = await aSandbox("message");
    const { host, port } = new URL(ready.activator);
    const socket = new WebSocket(`ws://${host}/`, { headers: { host: `${name}.default.${ready.domain}:${port}` } });
    const heard = new Promise<string>((resolve) => socket.once("message", (data) => resolve(String(data))));
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    socket.send("compute");
    const pinging = setInterval(() => socket.ping(), 500);
    expect(await heard).toBe("done");
    expect(await closed).toBe(1001);
    clearInterval(pinging);
    await untilAsleep(name);
  }, 60_000);

  it("is not cut while a POST waits for the rest of an event stream", async () => {
    const name = await aSandbox("tool");
    const { status, body } = await ask(ready, name, "/events", { method: "POST", body: "{}" });
    expect({ status, body }).toEqual({ status: 200, body: "data: begun\n\ndata: result\n\n" });
    await untilAsleep(name);
  }, 60_000);

  it("has been idle since the activator's own 504, not since the request before", async () => {
    const name = await aSandbox("timed-out");
    const headers = { "X-Sandbox-Timeout": `${workMs / 1_000}` };
    expect((await ask(ready, name, "/never", { method: "POST", headers })).status).toBe(504);
    expect(await idleWhenSuspended(name)).toBeLessThan(workMs / 1_000);
  }, 60_000);

  it("has been idle since its client reset the connection", async () => {
    const name = await aSandbox("left");
    const { hostname, port } = new URL(ready.activator);
    const headers = { host: `${name}.default.${ready.domain}:${port}` };
    const left = request({ hostname, port, method: "POST", path: "/never", headers, agent: false }).on(
      "error",
      () => {},
    );
    left.end();
    await delay(workMs);
    left.socket?.resetAndDestroy();
    expect(await idleWhenSuspended(name)).toBeLessThan(workMs / 1_000);
  }, 60_000);
});
