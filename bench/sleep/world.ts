import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drainPortDefault } from "../../api/between-programs/drain-credentials.ts";
import { podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import { startMemoryApiServer } from "../../apiserver/start-memory-api-server.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { writeDrainFiles } from "../../test/programs/drain-files.ts";
import { writeKubeconfig } from "../../test/programs/kubeconfig.ts";
import { is } from "../cluster/objects.ts";
import { inParallel } from "../in-parallel.ts";
import { recordStates } from "../state-times.ts";
import { type InstantNode, startInstantNode } from "./instant-node.ts";
import { type Program, startProgram } from "./programs.ts";

const system = "agent-sandbox-system";
export const home = "default";
const parts = { clock: systemClock, log: silentLogger };

export interface Activator extends Program {
  readonly host: string;
  readonly port: number;
}

export interface SleepWorld extends AsyncDisposable {
  readonly client: KubeClient;
  readonly node: InstantNode;
  readonly controller: Program;
  readonly activators: readonly Activator[];
  /** Creates sandboxes with these names and waits until all are Ready. */
  create(names: readonly string[], inactivityTimeoutSeconds: number): Promise<void>;
}

/** A controller and two activators as processes, an API server in memory, and a node without delays. */
export async function openSleepWorld(): Promise<SleepWorld> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "rouse-sleep-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const api = stack.use(await startMemoryApiServer({ ...parts, host: "127.0.0.1", port: 0, kinds: servedKinds() }));
  const client = stack.use(createKubeClient(connectionFor({ server: api.url }), { userAgent: "rouse-bench" }));
  const node = stack.use(await startInstantNode(client, home));
  const kubeconfig = writeKubeconfig(directory, api.url);
  const drainFiles = await writeDrainFiles({ client, namespace: system, directory });
  const controller = stack.use(
    await startProgram("controller", [
      ...[`--kubeconfig=${kubeconfig}`, "--enable-webhook=false", `--leader-election-namespace=${system}`],
      ...["--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0", `--activator-namespace=${system}`],
    ]),
  );
  const start = async (index: number) =>
    stack.use(await startActivator(client, `activator-${index}`, `127.89.0.${index}`, [kubeconfig, ...drainFiles]));
  const activators = [await start(1), await start(2)];
  const owned = stack.move();
  return {
    ...{ client, node, controller, activators },
    create: (names, inactivityTimeoutSeconds) => create(client, names, inactivityTimeoutSeconds),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const at = (host: string) => ({ http: `${host}:8080`, ops: `${host}:8081`, drain: `${host}:${drainPortDefault}` });

async function startActivator(
  client: KubeClient,
  name: string,
  host: string,
  [kubeconfig = "", ...drainFiles]: readonly string[],
): Promise<Activator> {
  await client.create(podType, {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: { namespace: system, name, labels: { app: "sandbox-router" } },
    spec: { containers: [{ name: "router", image: "rouse" }], nodeName: "bench" },
  });
  const { http, ops, drain } = at(host);
  const program = await startProgram(
    "activator",
    [
      ...[`--kubeconfig=${kubeconfig}`, `--http-bind-address=${http}`, `--health-probe-bind-address=${ops}`],
      ...["--metrics-bind-address=", `--drain-bind-address=${drain}`, `--tcp-front-bind-address=${host}`],
      ...["--authz-mode=allow-all", "--allow-loopback-pod-ip", "--access-log=false", ...drainFiles],
    ],
    `http://${ops}/metrics`,
  );
  const containers = [{ name: "router", ready: true, restartCount: 0, image: "rouse", imageID: "rouse" }];
  const status = {
    ...{ phase: "Running", podIP: host, podIPs: [{ ip: host }] },
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: containers.map((container) => ({ ...container, state: { running: {} } })),
  };
  const patch = { type: "merge", body: { status } } as const;
  await client.patch(podType, { namespace: system, name }, patch, { subresource: "status" });
  return { ...program, host, port: 8_080 };
}

const atOnce = 32;

async function create(client: KubeClient, names: readonly string[], inactivityTimeoutSeconds: number): Promise<void> {
  const wanted = new Set(names);
  const ready = (sandbox: Stored<Sandbox>) => wanted.has(sandbox.metadata.name) && is("Ready")(sandbox);
  await using sandboxes = await recordStates(client, sandboxType, home, { ready });
  const container = { name: "main", image: "program", ports: [{ containerPort: 8_888 }] };
  await inParallel(names, atOnce, (name) =>
    client.create(sandboxType, {
      ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" },
      metadata: { namespace: home, name },
      spec: {
        podTemplate: { spec: { containers: [container], nodeName: "bench" } },
        autoSuspension: { inactivityTimeoutSeconds },
      },
    }),
  );
  await sandboxes.untilReached("ready", names.length);
}
