import { Registry } from "prom-client";
import { vi } from "vitest";
import { drainSecretKeys, drainSecretName } from "../../../api/between-programs/drain-credentials.ts";
import { eventType, podType, secretType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod, PodStatus } from "../../../api/kinds/pod.ts";
import { type Sandbox, type SandboxSpec, sandboxType } from "../../../api/kinds/sandbox.ts";
import { isSuspensionComplete } from "../../../api/rules/suspension.ts";
import { parseControllerConfig } from "../../../controller/config/config.ts";
import { type RunningController, startController } from "../../../controller/start.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { type Clock, type FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { readyStatus } from "../builders/builders.ts";
import { type FakeActivator, startFakeActivator } from "../fakes/fake-activator.ts";
import { startFakeKubelet } from "../fakes/fake-kubelet.ts";
import { withinRights } from "../fakes/within-rights.ts";
import { openMemoryApi } from "../memory-api.ts";

const namespace = "agent-sandbox-system";
const where = { namespace: "default", name: "nova" };

export interface LabController extends AsyncDisposable {
  readonly running: RunningController;
  metrics(): Promise<string>;
}

export interface LabControllerOptions {
  /** Replaces the lab's default. */
  readonly client?: KubeClient;
  readonly clock?: Clock;
  readonly flags?: readonly string[];
}

/** An API server in memory with one activator for the Sandbox `default/nova`. The test starts and stops controllers. */
export interface SleepLab extends AsyncDisposable {
  readonly client: KubeClient;
  readonly activator: FakeActivator;
  /** The activator answers once this has resolved. */
  startController(options?: LabControllerOptions): Promise<LabController>;
  create(spec: Partial<SandboxSpec>): Promise<Stored<Sandbox>>;
  change(spec: Partial<SandboxSpec>): Promise<void>;
  sandbox(): Promise<Stored<Sandbox>>;
  /** The Pod of the Sandbox; undefined if there is none. */
  pod(): Promise<Stored<Pod> | undefined>;
  /** Waits until a Pod of the Sandbox is ready, and returns it. */
  untilReady(): Promise<Stored<Pod>>;
  /**
   * `clock`: that of the controllers, whose time passes meanwhile. It stands still while this process gets no processor: a controller takes
   * that for a pause, and puts suspensions off.
   */
  untilAsleep(clock?: FakeClock): Promise<Stored<Sandbox>>;
  /** Notes of the events about the Sandbox, by reason. */
  eventNotes(reason: string): Promise<readonly string[]>;
}

export const waiting = { timeout: 20_000, interval: 20 };

/** `conditions` are those of each Pod from its start on; absent: it is Ready. */
export async function openSleepLab({ conditions = readyStatus.conditions }: PodStatus = {}): Promise<SleepLab> {
  await using stack = new AsyncDisposableStack();
  const api = stack.use(await openMemoryApi());
  const { client } = api;
  const activator = stack.use(await startFakeActivator());
  const status: PodStatus = { phase: "Running", podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] };
  stack.use(startFakeKubelet(client, { ...status, ...(conditions && { conditions }) }));
  await client.create(podType, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name: "activator-1", labels: { app: "sandbox-router" } },
    spec: { containers: [{ name: "router", image: "rouse" }], nodeName: "node-1" },
  });

  const pod = () =>
    client.get(podType, where).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  const opened = stack.move();
  return {
    client,
    activator,
    pod,
    startController: (options = {}) => startLabController(client, activator, options),
    create: (spec) =>
      client.create(sandboxType, {
        apiVersion: "agents.x-k8s.io/v1beta1",
        kind: "Sandbox",
        metadata: where,
        spec: {
          podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }], nodeName: "node-1" } },
          ...spec,
        },
      }),
    async change(spec) {
      await client.patch(sandboxType, where, { type: "merge", body: { spec } });
    },
    sandbox: () => client.get(sandboxType, where),
    untilReady: () =>
      vi.waitFor(async () => {
        const found = await pod();
        if (found?.status?.phase !== "Running" || found.metadata.deletionTimestamp) throw new Error("not ready");
        return found;
      }, waiting),
    untilAsleep: (clock) =>
      vi.waitFor(async () => {
        await clock?.advance(100);
        const sandbox = await client.get(sandboxType, where);
        if (!isSuspensionComplete(sandbox)) throw new Error(JSON.stringify({ ...sandbox.metadata, ...sandbox.status }));
        return sandbox;
      }, waiting),
    async eventNotes(reason) {
      const { items } = await client.list(eventType, { namespace: where.namespace });
      return items.filter((event) => event.reason === reason).map(({ note }) => note ?? "");
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function startLabController(
  client: KubeClient,
  activator: FakeActivator,
  { flags = [], ...options }: LabControllerOptions,
): Promise<LabController> {
  const config = parseControllerConfig([
    "--leader-elect=false",
    "--enable-webhook=false",
    "--metrics-bind-address=127.0.0.1:0",
    "--health-probe-bind-address=0",
    `--activator-namespace=${namespace}`,
    `--activator-drain-port=${activator.port}`,
    ...flags,
  ]);
  const parts = { client, clock: systemClock, log: silentLogger, registry: new Registry(), identity: "lab" };
  const own = { ...parts, ...options };
  const running = await startController(config, { ...own, client: withinRights("controller", own.client) });
  if (config.activators) await trust(client, activator);
  await running.synced;
  return {
    running,
    metrics: async () => (await fetch(`${running.metricsUrl}/metrics`)).text(),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** Gives the activator the certificates that the controller has made. */
async function trust(client: KubeClient, activator: FakeActivator): Promise<void> {
  const { data = {} } = await client.get(secretType, { namespace, name: drainSecretName });
  const part = (key: string) => Buffer.from(data[key] ?? "", "base64").toString("utf8");
  activator.trust({
    certificate: part(drainSecretKeys.activatorCertificate),
    key: part(drainSecretKeys.activatorKey),
    authorities: part(drainSecretKeys.authorities),
  });
}
