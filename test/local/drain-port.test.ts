import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { request as overHttp } from "node:http";
import { request as overTls, type RequestOptions } from "node:https";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { drainPaths } from "../../api/protocols/drain-protocol.ts";
import { clientOf, LocalMode, type Ready } from "../support/labs/local-mode.ts";

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

describe("the drain port of local mode", () => {
  let local: LocalMode;
  let ready: Ready;

  beforeAll(async () => {
    local = new LocalMode();
    ready = await local.start();
  }, 60_000);

  afterAll(() => local[Symbol.asyncDispose]());

  it("answers nobody without the certificate of the controller", async () => {
    const ports = listeningOf(local.pid);
    expect(ports).toContainEqual({ host: "127.0.0.1", port: Number(new URL(ready.activator).port) });
    const plain = await Promise.all(ports.map((port) => answerOf(overHttp, port)));
    const encrypted = await Promise.all(ports.map((port) => answerOf(overTls, port, { rejectUnauthorized: false })));
    expect([...plain, ...encrypted]).not.toContain(200);
    expect(encrypted.filter((answer) => answer === "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED")).toHaveLength(1);
  });

  it("answers the controller, so that an idle sandbox is suspended", async () => {
    await using client = clientOf(ready);
    const body = { spec: { autoSuspension: { inactivityTimeoutSeconds: 1 }, operatingMode: "Running" } };
    await client.patch(sandboxType, { namespace: "default", name: "hello" }, { type: "merge", body });
    const mode = async () =>
      (await client.get(sandboxType, { namespace: "default", name: "hello" })).spec.operatingMode;
    await expect.poll(mode, { timeout: 30_000 }).toBe("Suspended");
  });
});
