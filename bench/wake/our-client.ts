import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { sandboxType } from "../../api/sandbox.ts";
import type { KubeClient } from "../../kube/client.ts";

export interface Target {
  readonly activator: string;
  readonly domain: string;
}

/** Suspends the sandbox and resolves once the API says that it sleeps. */
export async function putToSleep(client: KubeClient, name: string): Promise<void> {
  const where = { namespace: "default", name };
  await client.patch(sandboxType, where, { type: "merge", body: { spec: { operatingMode: "Suspended" } } });
  for (let tries = 0; tries < 1000; tries += 1) {
    const { metadata, status } = await client.get(sandboxType, where);
    const suspended = status?.conditions?.find(({ type }) => type === "Suspended");
    if (suspended?.status === "True" && suspended.observedGeneration === metadata.generation) return;
    await delay(20);
  }
  throw new Error(`${name} does not fall asleep`);
}

/** Wakes the sandbox by one request on a new connection; the wake tax in milliseconds. */
export function measureWake({ activator, domain }: Target, name: string): Promise<number> {
  const { hostname, port } = new URL(activator);
  const agent = new Agent({ keepAlive: false });
  return new Promise((resolve, reject) => {
    const headers = { host: `${name}.default.${domain}` };
    const outgoing = request({ hostname, port, path: "/info", headers, agent }, (response) => {
      const firstByteMs = performance.timeOrigin + performance.now();
      let body = "";
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on("end", () => {
        if (response.statusCode !== 200) return reject(new Error(`answered ${response.statusCode}: ${body}`));
        resolve(firstByteMs - JSON.parse(body).listeningSinceMs);
      });
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}
