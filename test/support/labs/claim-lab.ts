import { Registry } from "prom-client";
import { vi } from "vitest";
import { eventType } from "../../../api/kinds/core.ts";
import { type Condition, controllerOf, type KubeObject, type Stored } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import { type Sandbox, type SandboxStatus, sandboxType } from "../../../api/kinds/sandbox.ts";
import { type SandboxClaim, type SandboxClaimSpec, sandboxClaimType } from "../../../api/kinds/sandbox-claim.ts";
import {
  type SandboxTemplate,
  type SandboxTemplateSpec,
  sandboxTemplateType,
} from "../../../api/kinds/sandbox-template.ts";
import {
  type SandboxWarmPool,
  type SandboxWarmPoolSpec,
  sandboxWarmPoolType,
} from "../../../api/kinds/sandbox-warm-pool.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { currentBlueprint } from "../../../controller/blueprint/current-blueprint.ts";
import { defaultLabelDomains } from "../../../controller/claim/create/allowed-label-domains.ts";
import { startClaimController } from "../../../controller/claim/start-claim-controller.ts";
import { ClaimMetrics } from "../../../controller/claim/status/claim-metrics.ts";
import { parseControllerConfig } from "../../../controller/config/config.ts";
import { createRuntimeMetrics } from "../../../controller/metrics/runtime-metrics.ts";
import { LifecycleMetrics } from "../../../controller/sandbox/metrics/lifecycle-metrics.ts";
import { type RunningController, startController } from "../../../controller/start.ts";
import { startExtensionInformers } from "../../../controller/start-extensions.ts";
import { startInformers } from "../../../controller/start-informers.ts";
import { startTemplateController } from "../../../controller/template/start-template-controller.ts";
import { Traces } from "../../../controller/traces.ts";
import { makeMember } from "../../../controller/warm-pool/resize/make-member.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import type { EventRecorder } from "../../../kube/events/event-recorder.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { type Clock, systemClock } from "../../../lib/time/clock.ts";
import { noTracer, type Tracer } from "../../../lib/tracing/tracer.ts";
import { startFakeKubelet } from "../fakes/fake-kubelet.ts";
import { type Intercept, type InterceptedCall, interceptCalls } from "../fakes/intercepted-client.ts";
import { withinRights } from "../fakes/within-rights.ts";
import { openMemoryApi } from "../memory-api.ts";
import { waiting } from "../waiting.ts";

const ofTests = [
  "--extensions",
  "--leader-elect=false",
  "--metrics-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=127.0.0.1:0",
  "--enable-webhook=false",
];
const namespace = "default";
const letPass: Intercept = (_, proceed) => proceed();

export interface LabController extends RunningController {
  /** Its calls about single objects, oldest first. */
  readonly calls: readonly InterceptedCall[];
  metrics(): Promise<string>;
}

/** Only the controller of claims: nothing refills a pool or creates Pods. */
export interface LabClaims extends AsyncDisposable {
  readonly calls: readonly InterceptedCall[];
  readonly registry: Registry;
}

export interface LabClaimsOptions {
  readonly intercept?: Intercept;
  readonly workers?: number;
  readonly clock?: Clock;
  /** The delay of each watch event, in milliseconds. */
  readonly lagMs?: number;
}

/** An API server in memory, a node, and as many controllers as a test starts, for tests about claims. */
export interface ClaimLab extends AsyncDisposable {
  /** A client that no controller uses. */
  readonly client: Awaited<ReturnType<typeof openMemoryApi>>["client"];
  /** Starts a controller and waits for its stores. It ends with the lab, or when it is disposed of. */
  startController(options?: {
    flags?: readonly string[];
    intercept?: Intercept;
    labelDomainsFile?: string;
    tracer?: Tracer;
    clock?: Clock;
    /** Default: true. */
    servesV1alpha1?: boolean;
    /** Kinds of which it learns nothing more, as from a silent watch. A test adds to it. */
    deafTo?: ReadonlySet<string>;
  }): Promise<LabController>;
  /** Starts a controller of claims only. `startController` starts one of all kinds. */
  startClaims(options?: LabClaimsOptions): Promise<LabClaims>;
  template(spec?: Partial<SandboxTemplateSpec>, name?: string): Promise<Stored<SandboxTemplate>>;
  pool(replicas: number, spec?: Partial<SandboxWarmPoolSpec>, name?: string): Promise<Stored<SandboxWarmPool>>;
  /** Creates a member of the pool `pool`. Default: ready and with an address. */
  spare(name: string, status?: SandboxStatus): Promise<Stored<Sandbox>>;
  /** Creates a template and a pool, and waits until the status of the pool says that this number is ready. */
  warm(replicas: number): Promise<void>;
  claim(
    name: string,
    spec?: Partial<SandboxClaimSpec>,
    metadata?: KubeObject["metadata"],
  ): Promise<Stored<SandboxClaim>>;
  get<T extends KubeObject>(type: ResourceType<T>, name: string): Promise<Stored<T> | undefined>;
  patch<T extends KubeObject>(
    type: ResourceType<T>,
    name: string,
    body: object,
    subresource?: "status",
  ): Promise<Stored<T>>;
  /** Waits until the claim's Ready condition is like this. */
  untilReady(claim: string, like?: Partial<Condition>): Promise<Stored<SandboxClaim>>;
  sandboxesOf(claim: KubeObject): Promise<readonly Stored<Sandbox>[]>;
  eventReasons(): Promise<readonly string[]>;
}

export async function openClaimLab(options: { readonly kubelet?: boolean } = {}): Promise<ClaimLab> {
  await using stack = new AsyncDisposableStack();
  const { client } = stack.use(await openMemoryApi());
  if (options.kubelet ?? true) stack.use(startFakeKubelet(client));
  const opened = stack.move();
  return {
    client,
    startController: async (settings = {}) => opened.use(await startLabController(client, settings)),
    startClaims: async (settings = {}) => opened.use(await startLabClaims(client, settings)),
    ...makersOf(client),
    ...lookersOf(client),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** The objects that a test creates. */
function makersOf(client: KubeClient): Pick<ClaimLab, "template" | "pool" | "spare" | "warm" | "claim" | "patch"> {
  const make = <T extends KubeObject>(type: ResourceType<T>, name: string, rest: object) =>
    client.create(type, { metadata: { name, namespace }, ...rest } as T);
  const template: ClaimLab["template"] = (spec = {}, name = "template") =>
    make(sandboxTemplateType, name, {
      spec: { podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } }, ...spec },
    });
  const pool: ClaimLab["pool"] = (replicas, spec = {}, name = "pool") =>
    make(sandboxWarmPoolType, name, { spec: { replicas, sandboxTemplateRef: { name: "template" }, ...spec } });
  const patch: ClaimLab["patch"] = (type, name, body, subresource) =>
    client.patch(type, { namespace, name }, { type: "merge", body }, subresource ? { subresource } : {});
  return {
    template,
    pool,
    patch,
    async spare(name, status = { conditions: [readyCondition], podIPs: ["10.1.0.5"], nodeName: "node-1" }) {
      const [owner, blueprint] = await Promise.all([
        client.get(sandboxWarmPoolType, { namespace, name: "pool" }),
        client.get(sandboxTemplateType, { namespace, name: "template" }),
      ]);
      const made = { object: blueprint, blueprint: currentBlueprint(blueprint) };
      await client.create(sandboxType, makeMember(name, owner, made, true));
      return patch(sandboxType, name, { status }, "status");
    },
    async warm(replicas) {
      await template();
      await pool(replicas);
      await vi.waitFor(async () => {
        const { status } = await client.get(sandboxWarmPoolType, { namespace, name: "pool" });
        if (status?.readyReplicas !== replicas) throw new Error(`${status?.readyReplicas} of ${replicas} are ready`);
      }, waiting);
    },
    claim: (name, spec = {}, metadata = {}) =>
      make(sandboxClaimType, name, {
        metadata: { ...metadata, name, namespace },
        spec: { warmPoolRef: { name: "pool" }, ...spec },
      }),
  };
}

/** The objects that a test reads. */
function lookersOf(client: KubeClient): Pick<ClaimLab, "get" | "untilReady" | "sandboxesOf" | "eventReasons"> {
  return {
    get: (type, name) =>
      client.get(type, { namespace, name }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      }),
    untilReady: (name, like = { status: "True" }) =>
      vi.waitFor(async () => {
        const claim = await client.get(sandboxClaimType, { namespace, name });
        const ready = findCondition(claim.status?.conditions, "Ready");
        const differs = Object.entries(like).some(([field, value]) => ready?.[field as keyof Condition] !== value);
        if (!ready || differs) throw new Error(`Ready of ${name} is ${JSON.stringify(ready)}`);
        return claim;
      }, waiting),
    async sandboxesOf({ metadata }) {
      const { items } = await client.list(sandboxType, { namespace });
      return items.filter((sandbox) => controllerOf(sandbox)?.uid === metadata.uid);
    },
    async eventReasons() {
      const { items } = await client.list(eventType, { namespace });
      const about = items.filter(({ regarding }) => regarding?.kind === "SandboxClaim");
      about.sort((a, b) => (a.eventTime ?? "").localeCompare(b.eventTime ?? ""));
      return about.map(({ reason, action }) => `${reason} ${action}`);
    },
  };
}

export const readyCondition: Condition = {
  type: "Ready",
  status: "True",
  reason: "DependenciesReady",
  message: "Pod is Ready",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

async function startLabClaims(
  client: ClaimLab["client"],
  { intercept = letPass, workers = 10, clock = systemClock, lagMs = 0 }: LabClaimsOptions,
): Promise<LabClaims> {
  await using stack = new AsyncDisposableStack();
  const calls: InterceptedCall[] = [];
  const recorded = interceptCalls(lagMs > 0 ? behind(client, lagMs) : client, (call, proceed) => {
    calls.push(call);
    return intercept(call, proceed);
  });
  const base = { client: recorded, clock, log: silentLogger };
  const informers = stack.use(startInformers({ ...base, trackedOnly: false, tcpFronts: false }));
  const extensions = stack.use(startExtensionInformers(base));
  await Promise.all([informers.synced, extensions.synced]);
  const registry = new Registry();
  // The calls for a template's NetworkPolicy are not part of the cost of a claim.
  const followed = { ...extensions, sandboxes: informers.sandboxes, pods: informers.pods };
  const beside = { client, informers: followed, clock, log: silentLogger, workers: 1, events: noEvents };
  const traces = new Traces(noTracer, silentLogger, clock);
  stack.use(
    startTemplateController({ ...beside, traces, runtimeMetrics: createRuntimeMetrics(new Registry(), clock) }),
  );
  stack.use(
    startClaimController({
      ...base,
      slowClient: recorded,
      informers: { ...extensions, sandboxes: informers.sandboxes, pods: informers.pods },
      events: undefined,
      metrics: new ClaimMetrics(registry, new LifecycleMetrics(registry, clock), clock),
      runtimeMetrics: createRuntimeMetrics(registry, clock),
      traces: new Traces(noTracer, silentLogger, clock),
      workers,
      labelDomains: defaultLabelDomains,
      servesV1alpha1: true,
      writesNotes: true,
    }),
  );
  const started = stack.move();
  return { calls, registry, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

const noEvents: EventRecorder = { record: () => {}, async [Symbol.asyncDispose]() {} };

/** A client whose watch events are delayed, one after the other. */
const behind = (client: KubeClient, lagMs: number): KubeClient => ({
  ...client,
  async *watch(type, options, signal) {
    for await (const event of client.watch(type, options, signal)) {
      await systemClock.sleep(lagMs, signal);
      yield event;
    }
  },
});

/** A client whose watches of some kinds deliver nothing. */
const deafened = (client: KubeClient, deafTo: ReadonlySet<string>): KubeClient => ({
  ...client,
  async *watch(type, options, signal) {
    for await (const event of client.watch(type, options, signal)) if (!deafTo.has(type.kind)) yield event;
  },
});

async function startLabController(
  client: ClaimLab["client"],
  {
    flags = [],
    intercept = letPass,
    labelDomainsFile = "/nonexistent",
    tracer = noTracer,
    clock = systemClock,
    servesV1alpha1 = true,
    deafTo = new Set(),
  }: Parameters<ClaimLab["startController"]>[0] & {},
): Promise<LabController> {
  const calls: InterceptedCall[] = [];
  const recorded = interceptCalls(deafened(client, deafTo), (call, proceed) => {
    calls.push(call);
    return intercept(call, proceed);
  });
  const controller = await startController(parseControllerConfig([...ofTests, ...flags]), {
    client: withinRights("controller", recorded),
    clock,
    log: silentLogger,
    registry: new Registry(),
    identity: "lab",
    labelDomainsFile,
    tracer,
    servesV1alpha1,
  });
  await controller.synced;
  return {
    ...controller,
    calls,
    metrics: async () => (await fetch(`${controller.metricsUrl}/metrics`)).text(),
    [Symbol.asyncDispose]: () => controller[Symbol.asyncDispose](),
  };
}
