import { Registry } from "prom-client";
import { vi } from "vitest";
import { eventType } from "../../../api/kinds/core.ts";
import type { Condition, KubeObject, Stored } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import { type Sandbox, type SandboxSpec, sandboxType } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { parseControllerConfig } from "../../../controller/config/config.ts";
import { type RunningController, startController } from "../../../controller/start.ts";
import type { MemoryProvider } from "../../../controller/suspension/hibernation/memory-provider.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { type Clock, systemClock } from "../../../lib/time/clock.ts";
import { noTracer, type Tracer } from "../../../lib/tracing/tracer.ts";
import { startFakeKubelet } from "../fakes/fake-kubelet.ts";
import { type RecordingClient, recordCalls } from "../fakes/recording-client.ts";
import { withinRights } from "../fakes/within-rights.ts";
import { openMemoryApi } from "../memory-api.ts";
import { waiting } from "../waiting.ts";

const ofTests = [
  "--leader-elect=false",
  "--enable-webhook=false",
  "--metrics-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=127.0.0.1:0",
];
const where = { namespace: "default", name: "nova" };

/** An API server in memory and the whole controller on it, for one test about the Sandbox `default/nova`. */
export interface SandboxLab extends AsyncDisposable {
  /** The client that the controller uses. */
  readonly client: RecordingClient;
  /** The client of everybody else. */
  readonly controllerFreeClient: KubeClient;
  readonly controller: RunningController;
  create(spec?: Partial<SandboxSpec>, metadata?: Sandbox["metadata"]): Promise<Stored<Sandbox>>;
  /** Merge-patches the Sandbox's spec. */
  change(spec: Partial<SandboxSpec>): Promise<void>;
  /** An object with this name; undefined if there is none. Default: the Sandbox's name. */
  find<T extends KubeObject>(type: ResourceType<T>, name?: string): Promise<Stored<T> | undefined>;
  /** Waits until a condition of the Sandbox is like this. */
  untilCondition(type: string, like: Partial<Condition>): Promise<Stored<Sandbox>>;
  /** Waits until the controller has made no call for a while, and returns all calls so far. */
  untilQuiet(): Promise<number>;
  /** Reasons of the events about the Sandbox, oldest first. */
  eventReasons(): Promise<readonly string[]>;
  metrics(): Promise<string>;
}

export async function openSandboxLab(
  options: {
    readonly flags?: readonly string[];
    readonly kubelet?: boolean;
    readonly tracer?: Tracer;
    /** The clock of the controller. Default: the system's. */
    readonly clock?: Clock;
    readonly memory?: MemoryProvider;
  } = {},
): Promise<SandboxLab> {
  await using stack = new AsyncDisposableStack();
  const api = stack.use(await openMemoryApi());
  const client = recordCalls(api.client);
  const config = parseControllerConfig([...ofTests, ...(options.flags ?? [])]);
  const { tracer = noTracer, clock = systemClock } = options;
  const parts = {
    client: withinRights("controller", client),
    clock,
    log: silentLogger,
    registry: new Registry(),
    identity: "lab",
    tracer,
  };
  const controller = stack.use(
    await startController(config, { ...parts, ...(options.memory && { memory: options.memory }) }),
  );
  if (options.kubelet ?? true) stack.use(startFakeKubelet(api.client));
  await controller.synced;

  const find = <T extends KubeObject>(type: ResourceType<T>, name = where.name) =>
    api.client.get(type, { ...where, name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  const opened = stack.move();
  return {
    client,
    controllerFreeClient: api.client,
    controller,
    find,
    create: (spec = {}, metadata = {}) =>
      api.client.create(sandboxType, {
        apiVersion: "agents.x-k8s.io/v1beta1",
        kind: "Sandbox",
        metadata: { ...metadata, ...where },
        spec: {
          podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }], nodeName: "node-1" } },
          ...spec,
        },
      }),
    async change(spec) {
      await api.client.patch(sandboxType, where, { type: "merge", body: { spec } });
    },
    untilCondition: (type, like) =>
      vi.waitFor(async () => {
        const sandbox = await api.client.get(sandboxType, where);
        const found = findCondition(sandbox.status?.conditions, type);
        const differs = Object.entries(like).some(([field, value]) => found?.[field as keyof Condition] !== value);
        if (!found || differs) throw new Error(`${type} is ${JSON.stringify(found)}, not like ${JSON.stringify(like)}`);
        return sandbox;
      }, waiting),
    async untilQuiet() {
      for (let seen = -1; seen !== client.calls.length; ) {
        seen = client.calls.length;
        await systemClock.sleep(100);
      }
      return client.calls.length;
    },
    async eventReasons() {
      const { items } = await api.client.list(eventType, { namespace: where.namespace });
      const about = items.filter(({ regarding }) => regarding?.kind === "Sandbox");
      about.sort((a, b) => (a.eventTime ?? "").localeCompare(b.eventTime ?? ""));
      return about.map(({ reason }) => reason ?? "");
    },
    metrics: async () => (await fetch(`${controller.metricsUrl}/metrics`)).text(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
