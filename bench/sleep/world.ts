import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { podType, secretType } from "../../api/core.ts";
import { drainPortDefault, drainSecretKeys, drainSecretName } from "../../api/drain-credentials.ts";
import { type Sandbox, sandboxType } from "../../api/sandbox.ts";
import { startDrainCertificates } from "../../controller/suspension/drain-certificates.ts";
import type { KubeClient } from "../../kube/client.ts";
import { connectionFor } from "../../kube/connection.ts";
import { createKubeClient } from "../../kube/http-client.ts";
import { servedKinds } from "../../kube/memory/kinds/served-kinds.ts";
import { startMemoryApiServer } from "../../kube/memory/start-memory-api-server.ts";
import { startInformer } from "../../kube/start-informer.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
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
  /** Makes sandboxes with these names and waits until all are Ready. */
  create(names: readonly string[], inactivityTimeoutSeconds: number): Promise<void>;
}

/** Both programs as processes, two activators, an API server in memory, and a node that takes no time. */
export async function openSleepWorld(): Promise<SleepWorld> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "rouse-sleep-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const api = stack.use(await startMemoryApiServer({ ...parts, host: "127.0.0.1", port: 0, kinds: servedKinds() }));
  const client = stack.use(createKubeClient(connectionFor({ server: api.url }), { userAgent: "rouse-bench" }));
  const node = stack.use(await startInstantNode(client, home));
  const kubeconfig = writeKubeconfig(directory, api.url);
  const drainFiles = await writeDrainFiles(client, directory);
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
  const ready = new Set<string>();
  await using informer = startInformer<Sandbox>({ ...parts, client, type: sandboxType, namespace: home, indexes: {} });
  informer.onChange(({ current }) => {
    const isReady = current?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
    if (current && isReady) ready.add(current.metadata.name);
  });
  const container = { name: "main", image: "program", ports: [{ containerPort: 8_888 }] };
  for (let from = 0; from < names.length; from += atOnce) {
    const lot = names.slice(from, from + atOnce).map((name) =>
      client.create(sandboxType, {
        ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" },
        metadata: { namespace: home, name },
        spec: {
          podTemplate: { spec: { containers: [container], nodeName: "bench" } },
          autoSuspension: { inactivityTimeoutSeconds },
        },
      }),
    );
    await Promise.all(lot);
  }
  while (names.some((name) => !ready.has(name))) await systemClock.sleep(50);
}

function writeKubeconfig(directory: string, server: string): string {
  const kubeconfig = join(directory, "kubeconfig");
  const context = { name: "bench", context: { cluster: "bench", user: "bench" } };
  const named = { clusters: [{ name: "bench", cluster: { server } }], users: [{ name: "bench", user: {} }] };
  const config = { apiVersion: "v1", kind: "Config", ...named, contexts: [context], "current-context": "bench" };
  writeFileSync(kubeconfig, JSON.stringify(config));
  return kubeconfig;
}

/** The certificates that the controller makes, where an activator mounts them. */
async function writeDrainFiles(client: KubeClient, directory: string): Promise<readonly string[]> {
  await using _made = await startDrainCertificates({ ...parts, client, namespace: system });
  const { data = {} } = await client.get(secretType, { namespace: system, name: drainSecretName });
  const { activatorCertificate, activatorKey, authorities } = drainSecretKeys;
  const files = {
    "drain-tls-cert-file": activatorCertificate,
    "drain-tls-key-file": activatorKey,
    "drain-client-ca-file": authorities,
  };
  return Object.entries(files).map(([flag, key]) => {
    const path = join(directory, key);
    writeFileSync(path, Buffer.from(data[key] ?? "", "base64"));
    return `--${flag}=${path}`;
  });
}
