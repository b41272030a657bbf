import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import type { KubeClient, ObjectName } from "../../kube/client/client.ts";
import type { WakeTarget } from "./with-k6.ts";

export interface Target {
  readonly activator: string;
  readonly domain: string;
}

const checksMax = 3_000;
const checkEveryMs = 20;

/** Suspends the sandbox and resolves once its status says that it is suspended. */
export async function putToSleep(client: KubeClient, sandbox: ObjectName): Promise<void> {
  await client.patch(sandboxType, sandbox, { type: "merge", body: { spec: { operatingMode: "Suspended" } } });
  for (let checks = 0; checks < checksMax; checks += 1) {
    const { metadata, status } = await client.get(sandboxType, sandbox);
    const suspended = status?.conditions?.find(({ type }) => type === "Suspended");
    if (suspended?.status === "True" && suspended.observedGeneration === metadata.generation) return;
    await delay(checkEveryMs);
  }
  throw new Error(`${sandbox.name} is not suspended in time`);
}

/** Wakes the sandbox by one request on a new connection; the wake tax in milliseconds. */
export async function measureWake({ activator, domain }: Target, name: string): Promise<number> {
  const target = { activator, domain, namespace: "default", activatorToken: "" };
  const { firstByteMs, listeningSinceMs } = await askInfo(target, name, "rouse-bench");
  return firstByteMs - listeningSinceMs;
}

/** The times of one request on a new connection, in milliseconds since the epoch. */
export interface Seen {
  readonly firstByteMs: number;
  /** When the program's port began to accept, by the program itself. */
  readonly listeningSinceMs: number;
}

export async function askInfo(target: AskedTarget, name: string, userAgent: string): Promise<Seen> {
  const { firstByteMs, body } = await askOnce(target, name, { path: "/info", userAgent });
  return { firstByteMs, listeningSinceMs: JSON.parse(body).listeningSinceMs };
}

export type AskedTarget = Pick<WakeTarget, "activator" | "activatorToken" | "namespace" | "domain">;

/** One response of 200, with its times in milliseconds since the epoch. */
export interface OneAnswer {
  /** Before the connection. */
  readonly sentMs: number;
  readonly firstByteMs: number;
  readonly body: string;
}

/** One request on a new connection. Rejects for any status but 200. */
export function askOnce(
  target: AskedTarget,
  name: string,
  { path, userAgent }: { readonly path: string; readonly userAgent: string },
): Promise<OneAnswer> {
  const { hostname, port } = new URL(target.activator);
  const agent = new Agent({ keepAlive: false });
  const nowMs = () => performance.timeOrigin + performance.now();
  return new Promise((resolve, reject) => {
    const headers = {
      host: `${name}.${target.namespace}.${target.domain}`,
      authorization: `Bearer ${target.activatorToken}`,
      "user-agent": userAgent,
    };
    const sentMs = nowMs();
    const outgoing = request({ hostname, port, path, headers, agent }, (response) => {
      const firstByteMs = nowMs();
      let body = "";
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on("end", () => {
        if (response.statusCode !== 200) return reject(new Error(`answered ${response.statusCode}: ${body}`));
        resolve({ sentMs, firstByteMs, body });
      });
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}
