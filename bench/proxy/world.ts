// A process of its own: an API server in memory with running sandboxes, all at 127.0.0.1. Prints its address.
import { type Pod, podType } from "../../api/kinds/core.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import { startMemoryApiServer } from "../../apiserver/start-memory-api-server.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { hostsMax } from "./ports.ts";

const parts = { clock: systemClock, log: silentLogger, host: "127.0.0.1", port: 0, kinds: servedKinds() };
const server = await startMemoryApiServer(parts);
const client = createKubeClient(connectionFor({ server: server.url }), { userAgent: "rouse-bench" });

for (let n = 0; n < hostsMax; n += 1) {
  const sandbox = await client.create(sandboxType, sandboxNamed(`s${n}`));
  const name = sandbox.metadata.name;
  await client.create(podType, podOf(sandbox));
  const status = {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True" }],
    podIP: "127.0.0.1",
    podIPs: [{ ip: "127.0.0.1" }],
    startTime: systemClock.now().toISOString(),
  };
  const patch = { type: "merge", body: { status } } as const;
  await client.patch(podType, { namespace: "default", name }, patch, { subresource: "status" });
}
process.stdout.write(`${server.url}\n`);

function sandboxNamed(name: string): Sandbox {
  const podTemplate = { spec: { containers: [{ name: "main", image: "program" }] } };
  return {
    ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" },
    metadata: { name, namespace: "default" },
    // For this long after the start of the Pod, requests to a closed port are held.
    spec: { podTemplate, operatingMode: "Running", autoResume: { timeoutSeconds: 3_600 } },
  };
}

function podOf({ metadata, spec }: Sandbox & { readonly metadata: { readonly uid: string } }): Pod {
  const { name, uid } = metadata;
  const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: name ?? "", uid, controller: true };
  return {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: { name: name ?? "", namespace: "default", ownerReferences: [owner] },
    spec: spec.podTemplate.spec,
  };
}
