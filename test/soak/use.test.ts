import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { isSuspensionComplete } from "../../api/rules/suspension.ts";
import type { ActivatorReplica } from "../sleep/activator-replica.ts";
import { answeredOnce } from "../sleep/promises.ts";
import { TestBed } from "../sleep/test-bed.ts";
import { visit } from "../sleep/visitor.ts";

let bed: TestBed;
beforeAll(async () => {
  bed = await TestBed.open();
});
afterAll(() => bed[Symbol.asyncDispose]());

function activator(): ActivatorReplica {
  const [found] = bed.activators;
  if (!found) throw new Error("there is no activator");
  return found;
}

const autoSuspension = { inactivityTimeoutSeconds: 1 };
/** Several times the idle time. */
const longMs = 8_000;

const isAsleep = async (name: string) => isSuspensionComplete(await bed.sandbox(name));

async function aSandbox(name: string, more: object = {}): Promise<string> {
  await bed.create(name, { autoSuspension: { ...autoSuspension, ...more } });
  await answeredOnce(activator(), bed.node.ledger, { sandbox: name });
  return name;
}

describe("a sandbox stays awake", () => {
  it("for a download of one byte now and then", async () => {
    const sandbox = await aSandbox("download");
    await answeredOnce(activator(), bed.node.ledger, { sandbox, drips: 8, dripEveryMs: 1_000 });
    await bed.untilAsleep(sandbox);
  });

  it("for an upload of one byte now and then", async () => {
    const sandbox = await aSandbox("upload");
    const { host, port } = activator();
    const headers = { "x-sandbox-id": sandbox, "content-length": "8" };
    const answer = new Promise<number | undefined>((resolve, reject) => {
      const options = { host, port, method: "POST", path: "/work?id=upload", headers, agent: false };
      const upload = request(options, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      upload.on("error", reject);
      void (async () => {
        for (let sent = 0; sent < 8; sent += 1) {
          upload.write("x");
          await delay(1_000);
        }
        upload.end();
      })();
    });
    expect(await answer).toBe(200);
    expect(bed.node.ledger.of("upload")).toHaveLength(1);
    await bed.untilAsleep(sandbox);
  });

  it("for a request that is silent for long", async () => {
    const sandbox = await aSandbox("silent");
    await answeredOnce(activator(), bed.node.ledger, { sandbox, afterMs: longMs });
    await bed.untilAsleep(sandbox);
  });
});

describe("a WebSocket with only pings", () => {
  const open = async (sandbox: string) => {
    const { host, port } = activator();
    const socket = new WebSocket(`ws://${host}:${port}/`, { headers: { "x-sandbox-id": sandbox } });
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const pinging = setInterval(() => socket.ping(), 200);
    const closed = new Promise<number>((resolve) =>
      socket.once("close", (code) => {
        clearInterval(pinging);
        resolve(code);
      }),
    );
    return { socket, closed };
  };

  it("lets its sandbox be suspended under Data, and is closed with 1001", async () => {
    const sandbox = await aSandbox("pings-data");
    const { closed } = await open(sandbox);
    expect(await closed).toBe(1001);
    await bed.untilAsleep(sandbox);
  });

  it("keeps its sandbox awake under Count", async () => {
    const sandbox = await aSandbox("pings-count", { openConnections: "Count" });
    const { socket, closed } = await open(sandbox);
    await delay(longMs);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    expect(await isAsleep(sandbox)).toBe(false);
    socket.close();
    await closed;
    await bed.untilAsleep(sandbox);
  });
});

it("requests that match ignoreRequests neither keep a sandbox awake nor wake it", async () => {
  const sandbox = await aSandbox("monitored", { ignoreRequests: [{ userAgentPrefix: "monitor/" }] });
  const ask = () => visit(activator(), { id: "", sandbox, headers: { "user-agent": "monitor/1" } });
  expect(await ask()).toMatchObject({ status: 200 });
  const began = performance.now();
  while (!(await isAsleep(sandbox)) && performance.now() - began < 30_000) {
    await ask();
    await delay(200);
  }
  expect(await isAsleep(sandbox)).toBe(true);
  expect(await ask()).toMatchObject({ status: 409 });
  expect(await isAsleep(sandbox)).toBe(true);
});
