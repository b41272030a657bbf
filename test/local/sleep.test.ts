import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { request as overHttp } from "node:http";
import { request as overTls, type RequestOptions } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { drainPaths } from "../../api/between-programs/drain-protocol.ts";
import { eventType, podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { causeOf, isSuspensionComplete } from "../../api/rules/suspension.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ask, clientOf, LocalMode, type Ready } from "../support/labs/local-mode.ts";

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where a process listens, over IPv4. */
function listeningOf(pid: number): readonly Address[] {
  const inodes = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => socketOf(`/proc/${pid}/fd/${fd}`)));
  const rows = readFileSync(`/proc/${pid}/net/tcp`, "utf8").trim().split("\n").slice(1);
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    const [ip = "", port = ""] = local.split(":");
    const host = [...Buffer.from(ip, "hex").reverse()].join(".");
    return state === "0A" && inodes.has(inode) ? [{ host, port: Number.parseInt(port, 16) }] : [];
  });
}

/** The inode of an open socket; a file may be closed meanwhile. */
function socketOf(path: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(path))?.[1];
  } catch {
    return undefined;
  }
}

/** The status of the answer to a question about all activity, or the code of the failure. */
function answerOf(request: typeof overHttp, address: Address, options: RequestOptions = {}): Promise<unknown> {
  const headers = { host: "evil.example", origin: "http://evil.example", "content-type": "text/plain" };
  return new Promise((resolve) => {
    const call = { ...address, path: drainPaths.activity, method: "POST", headers, agent: false, ...options };
    const asked = request(call, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code));
    asked.end("{}");
  });
}

const hello = { namespace: "default", name: "hello" } as const;

let local: LocalMode;
let ready: Ready;
let client: KubeClient & AsyncDisposable;

beforeAll(async () => {
  local = new LocalMode();
  ready = await local.start();
  client = clientOf(ready);
}, 60_000);

afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
});

it("hello is suspended when it is idle, and the next request wakes it", async () => {
  const spec = { operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 2 } };
  await client.patch(sandboxType, hello, { type: "merge", body: { spec } });
  const asleep = async () => {
    const sandbox = await client.get(sandboxType, hello);
    return isSuspensionComplete(sandbox) && causeOf(sandbox);
  };
  await expect.poll(asleep, { timeout: 20_000, interval: 100 }).toBe("Inactivity");
  await expect(client.get(podType, hello)).rejects.toThrow("not found");

  const answer = await ask(ready, "hello", "/");
  expect(answer.status).toBe(200);
  expect((await client.get(sandboxType, hello)).spec.operatingMode).toBe("Running");
  const notes = async () => {
    const { items } = await client.list(eventType, { namespace: "default" });
    return items.map(({ reason, note }) => `${reason}: ${note}`);
  };
  await expect.poll(notes, { timeout: 20_000, interval: 100 }).toContain("SandboxWoken: woken through port 8888");
  expect(await notes()).toContainEqual(expect.stringMatching(/^SandboxIdle: idle for \d+s$/));
  await expect.poll(asleep, { timeout: 20_000, interval: 100 }).toBe("Inactivity");
}, 60_000);

it("every request during the suspension of hello is answered and executed once", async () => {
  const spec = { operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 1 } };
  await client.patch(sandboxType, hello, { type: "merge", body: { spec } });
  const visit = async () => {
    const { status, body } = await ask(ready, "hello", "/");
    expect(status, body).toBe(200);
    return Number(/visit number (\d+)/.exec(body)?.[1]);
  };
  const before = await visit();
  const pauses = [950, 990, 1_000, 1_005, 1_010, 1_020, 1_040, 1_080, 1_160];
  for (const [index, pauseMs] of pauses.entries()) {
    await delay(pauseMs);
    expect(await visit()).toBe(before + index + 1);
  }
}, 60_000);

it("a sandbox that is to hibernate says that local mode has no gVisor", async () => {
  const suspensionStrategy = { type: "Hibernate" };
  const spec = { operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 1 }, suspensionStrategy };
  await client.patch(sandboxType, hello, { type: "merge", body: { spec } });
  expect((await ask(ready, "hello", "/")).status).toBe(200);
  const memory = async () => (await client.get(sandboxType, hello)).status?.hibernation;
  await expect.poll(memory, { timeout: 20_000, interval: 100 }).toMatchObject({
    state: "Stopped",
    message: expect.stringContaining("local mode has no gVisor"),
  });
}, 60_000);

it("the drain listener answers nobody without the certificate of the controller", async () => {
  const ports = listeningOf(local.pid);
  expect(ports).toContainEqual({ host: "127.0.0.1", port: Number(new URL(ready.activator).port) });
  const plain = await Promise.all(ports.map((port) => answerOf(overHttp, port)));
  const encrypted = await Promise.all(ports.map((port) => answerOf(overTls, port, { rejectUnauthorized: false })));
  expect([...plain, ...encrypted]).not.toContain(200);
  expect(encrypted.filter((answer) => answer === "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED")).toHaveLength(1);
});
