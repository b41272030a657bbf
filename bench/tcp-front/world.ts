import {
  endpointSliceType,
  formatTcpFront,
  managedByLabel,
  tcpFrontManager,
  tcpFrontPorts,
  tcpFrontSliceName,
} from "../../api/between-programs/tcp-front.ts";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { tcpFrontAnnotation } from "../../api/rules/keys.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { systemClock } from "../../lib/time/clock.ts";

/** The port of each sandbox, once it listens. */
export const containerPort = 19_003;

export interface Pair {
  readonly sandboxUid: string;
  readonly activatorPort: number;
}

/** Creates running sandboxes at 127.0.0.1, with a port on which nothing listens yet. Returns their UIDs. */
export async function makeSandboxes(client: KubeClient, count: number): Promise<readonly string[]> {
  return forEachYielding(count, async (n) => {
    const podTemplate = { spec: { containers: [{ name: "main", image: "program" }] } };
    const sandbox = await client.create(sandboxType, {
      ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" },
      metadata: { name: `s${n}`, namespace: "default" },
      spec: { podTemplate, operatingMode: "Running" },
    });
    const { name, uid } = sandbox.metadata;
    const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid, controller: true };
    await client.create(podType, {
      ...{ apiVersion: "v1", kind: "Pod" },
      metadata: { name, namespace: "default", ownerReferences: [owner] },
      spec: podTemplate.spec,
    });
    const podIP = "127.0.0.1";
    const startTime = systemClock.now().toISOString();
    const body = { status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], startTime } };
    await client.patch(podType, { namespace: "default", name }, { type: "merge", body }, { subresource: "status" });
    return uid;
  });
}

/** Creates an EndpointSlice for each sandbox, as the controller writes it. */
export async function makeSlices(client: KubeClient, uids: readonly string[]): Promise<readonly Pair[]> {
  return forEachYielding(uids.length, async (n) => {
    const [sandboxUid = "", activatorPort] = [uids[n], tcpFrontPorts.first + n];
    const ports = [{ name: "main", containerPort, activatorPort }];
    await client.create(endpointSliceType, {
      ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: "IPv4", endpoints: [] },
      metadata: {
        name: tcpFrontSliceName(sandboxUid),
        namespace: "default",
        labels: { [managedByLabel]: tcpFrontManager },
        annotations: { [tcpFrontAnnotation]: formatTcpFront({ sandboxName: `s${n}`, sandboxUid, ports }) },
      },
      ports: [{ name: "main", port: activatorPort, protocol: "TCP" }],
    });
    return { sandboxUid, activatorPort };
  });
}

const atOnce = 32;

async function forEachYielding<T>(count: number, make: (n: number) => Promise<T>): Promise<readonly T[]> {
  const made: T[] = [];
  for (let from = 0; from < count; from += atOnce) {
    const length = Math.min(atOnce, count - from);
    made.push(...(await Promise.all(Array.from({ length }, (_, at) => make(from + at)))));
  }
  return made;
}
