import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { vi } from "vitest";
import { type Container, type Event, eventType, type Pod, type PodSpec, podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { servedKinds } from "../../../apiserver/kinds/served-kinds.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { type Kubelet, startKubelet } from "../../../local/kubelet/start-kubelet.ts";
import { openMemoryApi } from "../memory-api.ts";
import { waiting } from "../waiting.ts";

/** An API server in memory and the process runtime as its one node, for tests with real child processes. */
export interface LocalNode extends AsyncDisposable {
  readonly client: KubeClient;
  readonly url: string;
  readonly dataDir: string;
  readonly kubelet: Kubelet;
  /** Creates a Pod in `default`. */
  createPod(name: string, spec: PodSpec): Promise<Stored<Pod>>;
  /** Resolves with the Pod once `expectation` no longer throws; fails after some seconds. */
  podOnce(name: string, expectation: (pod: Stored<Pod>) => void): Promise<Stored<Pod>>;
  /** Resolves when there is no such Pod. */
  gone(name: string): Promise<void>;
  eventsAbout(name: string): Promise<readonly Event[]>;
  /** Restarts the runtime with the same data. */
  restart(): Promise<void>;
  /** Ends only the runtime. */
  stop(): Promise<void>;
}

/** The PATH for tests: this Node, and the programs of every system. */
export const testPath = `${dirname(process.execPath)}:/usr/bin:/bin`;

export async function openLocalNode(
  options: {
    readonly environment?: Readonly<Record<string, string>>;
    readonly started?: boolean;
    /** How many Pods the node takes. */
    readonly podsMax?: number;
    /** What the arguments and environments of all its containers may take. */
    readonly launchBytesMax?: number;
    /** Returns the client of the runtime. */
    readonly clientOf?: (client: KubeClient) => KubeClient;
  } = {},
): Promise<LocalNode> {
  const api = await openMemoryApi({ kinds: servedKinds() });
  const dataDir = await mkdtemp(join(tmpdir(), "rouse-node-"));
  const { client } = api;
  const start = () =>
    startKubelet({
      client: options.clientOf?.(client) ?? client,
      clock: systemClock,
      log: silentLogger,
      dataDir,
      environment: options.environment ?? { PATH: testPath },
      ...(options.podsMax !== undefined && { podsMax: options.podsMax }),
      ...(options.launchBytesMax !== undefined && { launchBytesMax: options.launchBytesMax }),
    });
  let kubelet = options.started === false ? undefined : start();
  await kubelet?.synced;
  const where = (name: string) => ({ namespace: "default", name });
  return {
    client,
    url: api.url,
    dataDir,
    get kubelet() {
      if (!kubelet) throw new Error("the runtime is not started");
      return kubelet;
    },
    createPod: (name, spec) => client.create(podType, { apiVersion: "v1", kind: "Pod", metadata: where(name), spec }),
    podOnce: (name, expectation) =>
      vi.waitFor(async () => {
        const pod = await client.get(podType, where(name));
        expectation(pod);
        return pod;
      }, waiting),
    gone: (name) =>
      vi.waitFor(async () => {
        const found = await client.get(podType, where(name)).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
        if (found) throw new Error(`${name} is still there`);
      }, waiting),
    async eventsAbout(name) {
      const { items } = await client.list(eventType, { namespace: "default" });
      return items.filter(({ regarding }) => regarding?.name === name);
    },
    async restart() {
      await kubelet?.[Symbol.asyncDispose]();
      kubelet = start();
      await kubelet.synced;
    },
    async stop() {
      await kubelet?.[Symbol.asyncDispose]();
      kubelet = undefined;
    },
    async [Symbol.asyncDispose]() {
      await kubelet?.[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A container that runs a script in Node; `POD_IP` is in its environment. */
export function aScript(script: string, container: Partial<Container> = {}): Container {
  return {
    name: "main",
    image: "node",
    command: [process.execPath, "-e", script],
    ...container,
    env: [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }, ...(container.env ?? [])],
  };
}

/** A script that answers HTTP on the Pod's own address with this text. */
export function answering(text: string, port = 8080): string {
  return `require("http").createServer((_, response) => response.end(${JSON.stringify(text)})).listen(${port}, process.env.POD_IP)`;
}

/** A script that does nothing until it is ended. */
export const idle = "setInterval(() => {}, 1000)";

export function conditionOf({ status }: Pod, type: string) {
  return status?.conditions?.find((condition) => condition.type === type);
}

/** The whole log, or the part that `request` selects. */
export async function readPodLog(
  { kubelet }: LocalNode,
  pod: Stored<Pod>,
  request: Partial<Parameters<Kubelet["podLogs"]["read"]>[0]> = {},
): Promise<string> {
  const all = {
    pod,
    container: "main",
    previous: false,
    follow: false,
    timestamps: false,
    tailLines: undefined,
    since: undefined,
    limitBytes: undefined,
  };
  let text = "";
  const chunks = kubelet.podLogs.read({ ...all, ...request }, new AbortController().signal);
  for await (const chunk of chunks) text += chunk.toString();
  return text;
}
