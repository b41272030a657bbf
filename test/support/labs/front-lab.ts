import { Registry } from "prom-client";
import { vi } from "vitest";
import { drainPaths, type ListeningPort, type ListeningRequest } from "../../../api/between-programs/drain-protocol.ts";
import {
  type EndpointSlice,
  endpointSliceType,
  serviceNameLabel,
  type TcpFront,
  tcpFrontOf,
  tcpFrontSliceName,
} from "../../../api/between-programs/tcp-front.ts";
import { type Service, serviceType } from "../../../api/kinds/core.ts";
import type { KubeObject, Stored } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import { type Sandbox, type SandboxSpec, sandboxType } from "../../../api/kinds/sandbox.ts";
import { parseControllerConfig } from "../../../controller/config/config.ts";
import { type RunningController, startController } from "../../../controller/start.ts";
import type { Activator, ActivatorFinder } from "../../../controller/suspension/activators/activators.ts";
import type { DrainCall } from "../../../controller/suspension/activators/drain-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import { Subscribers } from "../../../lib/data/subscribers.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { type Clock, systemClock } from "../../../lib/time/clock.ts";
import { startFakeKubelet } from "../fakes/fake-kubelet.ts";
import { withinRights } from "../fakes/within-rights.ts";
import { openMemoryApi } from "../memory-api.ts";
import { waiting } from "../waiting.ts";

/** Activators that listen, or do not, as a test says; they read no EndpointSlice. */
export class ScriptedActivators implements ActivatorFinder {
  /** How often each was asked whether it listens. */
  readonly asked: { readonly host: string; readonly ports: readonly ListeningPort[] }[] = [];
  /** Whether the activator at this address accepts on this port. */
  accepts: (host: string, port: ListeningPort) => boolean = () => true;
  /** Whether that port is still in quarantine for another sandbox. */
  rests: (port: ListeningPort) => boolean = () => false;
  readonly #listeners = new Subscribers();
  #all: readonly Activator[] = [];

  /** One Pod for each address; `run` counts its processes. */
  are(
    ...pods: readonly {
      readonly address: string;
      readonly run?: number;
      readonly ready?: boolean;
      readonly leaving?: boolean;
    }[]
  ) {
    this.#all = pods.map(({ address, run = 1, ready = true, leaving = false }): Activator => {
      const id = `uid-of-${address}`;
      const pod = { namespace: "agent-sandbox-system", name: `activator-${address}`, uid: id };
      return {
        id,
        name: pod.name,
        mayServe: ready,
        address: { host: address, port: 8446 },
        endpoint: leaving ? undefined : { address, run: `${id} ${run}`, ready, pod },
        whenRefused: (silence) => ({ is: "silent", ...silence }),
      };
    });
    this.#listeners.notify();
  }

  known = (): readonly Activator[] => this.#all;

  list = async (): Promise<readonly Activator[]> => this.#all;

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  readonly call: DrainCall = async ({ host }, path, body) => {
    if (path === drainPaths.activity) return { epoch: "first", cursor: 0, full: true, activities: [] };
    if (path !== drainPaths.listening) return { inFlight: 0 };
    const { ports } = body as ListeningRequest;
    this.asked.push({ host, ports });
    const resting = ports.filter(this.rests).map(({ activatorPort }) => activatorPort);
    return { ports: ports.filter((port) => !this.rests(port) && this.accepts(host, port)), resting };
  };
}

/** An API server in memory and activators for the Sandbox `default/nova`. The test starts and stops controllers. */
export interface FrontLab extends AsyncDisposable {
  readonly client: KubeClient;
  readonly activators: ScriptedActivators;
  startController(options?: {
    readonly client?: KubeClient;
    readonly flags?: readonly string[];
    readonly registry?: Registry;
    /** No activators are configured. */
    readonly isSwitchedOff?: boolean;
    readonly clock?: Clock;
  }): Promise<RunningController>;
  create(spec?: Partial<SandboxSpec>, name?: string): Promise<Stored<Sandbox>>;
  change(spec: Partial<{ readonly [F in keyof SandboxSpec]: SandboxSpec[F] | null }>, name?: string): Promise<void>;
  remove(name?: string): Promise<void>;
  service(name?: string): Promise<Stored<Service> | undefined>;
  slice(sandbox: Stored<Sandbox>): Promise<Stored<EndpointSlice> | undefined>;
  slices(): Promise<readonly Stored<EndpointSlice>[]>;
  /** Waits until the Service of the sandbox has exactly these endpoints, and returns its EndpointSlice. */
  untilLeadingTo(sandbox: Stored<Sandbox>, ...addresses: readonly string[]): Promise<Stored<EndpointSlice>>;
}

const namespace = "default";

/** A Pod with these TCP ports. */
export const podWith = (...ports: readonly number[]): SandboxSpec["podTemplate"] => ({
  spec: {
    containers: [{ name: "main", image: "busybox", ports: ports.map((containerPort) => ({ containerPort })) }],
    nodeName: "node-1",
  },
});

export async function openFrontLab(): Promise<FrontLab> {
  await using stack = new AsyncDisposableStack();
  const { client } = stack.use(await openMemoryApi());
  stack.use(startFakeKubelet(client));
  const activators = new ScriptedActivators();
  activators.are({ address: "10.0.0.1" });
  const find = <T extends KubeObject>(type: ResourceType<T>, name: string) =>
    client.get(type, { namespace, name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  const slice = (sandbox: Stored<Sandbox>) => find(endpointSliceType, tcpFrontSliceName(sandbox.metadata.uid));
  const opened = stack.move();
  return {
    client,
    activators,
    slice,
    slices: async () => (await client.list(endpointSliceType)).items,
    service: (name = "nova") => find(serviceType, name),
    startController: async ({ flags = [], registry = new Registry(), isSwitchedOff = false, ...own } = {}) => {
      const config = parseControllerConfig([...ofTests, ...flags]);
      const parts = { client, clock: systemClock, log: silentLogger, registry, identity: "lab", ...own };
      const controller = await startController(config, {
        ...{ ...parts, client: withinRights("controller", parts.client) },
        ...(!isSwitchedOff && { activators: { finder: activators, call: activators.call } }),
      });
      await controller.synced;
      return controller;
    },
    create: (spec = {}, name = "nova") =>
      client.create(sandboxType, {
        apiVersion: "agents.x-k8s.io/v1beta1",
        kind: "Sandbox",
        metadata: { namespace, name },
        spec: { service: true, autoResume: {}, podTemplate: podWith(5432), ...spec },
      }),
    async change(spec, name = "nova") {
      await client.patch(sandboxType, { namespace, name }, { type: "merge", body: { spec } });
    },
    remove: (name = "nova") => client.delete(sandboxType, { namespace, name }),
    untilLeadingTo: (sandbox, ...addresses) =>
      vi.waitFor(async () => {
        const found = await slice(sandbox);
        const listed = (found?.endpoints ?? []).flatMap((endpoint) => endpoint.addresses);
        const service = found?.metadata.labels?.[serviceNameLabel];
        const isNamed = service === (addresses.length > 0 ? sandbox.metadata.name : undefined);
        if (!found || listed.join() !== addresses.join() || !isNamed) throw new Error(JSON.stringify(found));
        return found;
      }, waiting),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const ofTests = [
  "--leader-elect=false",
  "--enable-webhook=false",
  "--metrics-bind-address=0",
  "--health-probe-bind-address=0",
  "--disable-sandbox-events",
];

/** The annotation of an EndpointSlice; fails if it is missing. */
export function frontOf(slice: Stored<EndpointSlice> | undefined): TcpFront {
  const front = slice && tcpFrontOf(slice);
  if (!front) throw new Error(`says nothing: ${JSON.stringify(slice)}`);
  return front;
}

export const portsOf = (slice: Stored<EndpointSlice> | undefined): readonly number[] =>
  frontOf(slice).ports.map(({ activatorPort }) => activatorPort);
