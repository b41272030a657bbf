import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { serviceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";

const withinMs = 30_000;
const stepMs = 50;

/**
 * Gives a sandbox a Service, and resolves with the address of the Service in local mode, once it accepts connections.
 *
 * @throws Error if it does not accept in time.
 */
export async function addressByName(client: KubeClient, name: string): Promise<string> {
  const where = { namespace: "default", name };
  await client.patch(sandboxType, where, { type: "merge", body: { spec: { service: true } } });
  for (let waitedMs = 0; waitedMs < withinMs; waitedMs += stepMs) {
    const service = await client.get(serviceType, where).catch(() => undefined);
    const { clusterIP = "None", ports = [] } = service?.spec ?? {};
    const port = ports[0]?.port;
    if (clusterIP !== "None" && port !== undefined && (await isAnswered(clusterIP, port))) {
      return `http://${clusterIP}:${port}`;
    }
    await delay(stepMs);
  }
  throw new Error(`the Service of ${name} does not accept connections`);
}

function isAnswered(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    const settle = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once("connect", () => settle(true)).once("error", () => settle(false));
  });
}
