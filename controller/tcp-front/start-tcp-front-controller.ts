import { type EndpointSlice, tcpFrontSliceName, usesTcpFront } from "../../api/between-programs/tcp-front.ts";
import type { Service } from "../../api/kinds/core.ts";
import { keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import type { Logger } from "../../lib/log/log.ts";
import { firstFailure, type Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Turns } from "../../lib/time/turns.ts";
import type { RuntimeMetrics } from "../metrics/runtime-metrics.ts";
import { OwnWrites } from "../own-writes.ts";
import { keysFrom, type Source, startKind } from "../start-kind.ts";
import { Creations } from "../stores/creations.ts";
import { type ActivatorFinder, inOrderOfIds } from "../suspension/activators/activators.ts";
import type { Activators } from "../suspension/start-suspending.ts";
import { Confirmer } from "./confirmer.ts";
import type { PortShortages } from "./port-shortages.ts";
import { PortLedger, type PortLimits } from "./ports/port-ledger.ts";
import { PortWaiters } from "./ports/port-waiters.ts";
import { isOfAnother, TcpFrontReconciler } from "./reconciler.ts";
import type { TcpFrontMetrics } from "./tcp-front-metrics.ts";
import { WriteTurns } from "./write-turns.ts";

export interface TcpFrontSettings {
  /** The quarantine of a freed port. */
  readonly quarantineMs: number;
  /** Over all sandboxes. */
  readonly writesPerSecond: number;
  readonly limits: PortLimits;
}

export interface TcpFrontInformers {
  readonly sandboxes: Informer<Sandbox, "uid">;
  readonly services: Informer<Service>;
  readonly slices: Informer<EndpointSlice>;
}

export interface TcpFrontControllerOptions {
  readonly client: KubeClient;
  readonly informers: TcpFrontInformers;
  readonly activators: Activators;
  readonly settings: TcpFrontSettings;
  /** Filled here. */
  readonly shortages: PortShortages;
  readonly events: EventRecorder | undefined;
  readonly metrics: TcpFrontMetrics;
  readonly runtimeMetrics: RuntimeMetrics;
  readonly turns?: Turns | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** 0 to 1: where in the range of ports the search begins. */
  readonly random?: () => number;
}

/** So many slices are written at a time; how many a second is a matter of their turns. */
const workers = 8;

/** Starts to keep the slices by which the names of sandboxes lead to activators. The informers must have synced. */
export function startTcpFrontController(options: TcpFrontControllerOptions): Running {
  const { client, informers, activators, settings, metrics, clock, log } = options;
  const { call } = activators;
  const finder = inOrderOfIds(activators.finder);
  const stack = new DisposableStack();
  const slices = stack.use(new OwnWrites(informers.slices, clock));
  const ledger = new PortLedger({ ...options, ...settings });
  let enqueue: (key: string) => void = () => {};
  const turns = stack.use(new WriteTurns(settings.writesPerSecond, clock, (key) => enqueue(key)));
  const waiters = stack.use(new PortWaiters(ledger, clock, (key) => enqueue(key)));
  const enqueueSandbox = (uid: string) => {
    for (const sandbox of informers.sandboxes.store.by("uid", uid)) enqueue(sliceKey(sandbox));
  };
  const confirmer = new Confirmer({
    finder,
    call,
    clock,
    log,
    onNews: enqueueSandbox,
    onResting: (ports) => ledger.refused(ports),
  });
  confirmer.takeOver(slicesInTheirNamespaces(informers));
  metrics.counting({
    ports: () => ledger.count(),
    refused: () => options.shortages.ports,
    missing: () => confirmer.missing,
    waiting: () => turns.waiting,
  });
  const reconciler = new TcpFrontReconciler({
    ...{ client, slices, finder, confirmer, ledger, turns, waiters, metrics, clock, log, events: options.events },
    ...{ creations: new Creations(clock), sandboxes: informers.sandboxes.store, services: informers.services.store },
    quarantineMs: settings.quarantineMs,
    shortages: options.shortages,
  });
  const kind = startKind({
    name: "tcpfront",
    workers,
    sources: [
      (add) => {
        enqueue = add;
        return new DisposableStack();
      },
      keepLedger(informers.slices, slices, ledger),
      ...sourcesOf(informers, slices, finder, confirmer),
    ],
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
    clock,
    log,
    metrics: options.runtimeMetrics,
    turns: options.turns,
  });
  const failed = firstFailure(kind, confirmer);
  return {
    failed,
    async [Symbol.asyncDispose]() {
      await Promise.all([kind[Symbol.asyncDispose](), confirmer[Symbol.asyncDispose]()]);
      stack.dispose();
    },
  };
}

const slicesInTheirNamespaces = ({ slices, sandboxes }: TcpFrontInformers): readonly Stored<EndpointSlice>[] =>
  slices.store.list().filter((slice) => !isOfAnother(keyOf(slice), sandboxes.store));

function sourcesOf(
  informers: TcpFrontControllerOptions["informers"],
  slices: OwnWrites<EndpointSlice>,
  finder: ActivatorFinder,
  confirmer: Confirmer,
): readonly Source[] {
  return [
    keysFrom(informers.sandboxes, (sandbox) => keysOf(sandbox, slices)),
    keysFrom(informers.services, (service) => ownerKeys(service)),
    keysFrom(informers.slices, (slice) => [keyOf(slice)]),
    (add) => slices.onForgotten((slice) => add(keyOf(slice))),
    (add) =>
      onOtherEndpoints(finder, () => {
        confirmer.activatorsChanged();
        for (const slice of informers.slices.store.list()) add(keyOf(slice));
      }),
  ];
}

/** Calls back when clients are to be led elsewhere: most of what changes about an activator is not about that. */
function onOtherEndpoints(finder: ActivatorFinder, listener: () => void): Disposable {
  const endpoints = () => JSON.stringify(finder.known().map(({ id, endpoint }) => [id, endpoint]));
  let before = endpoints();
  return finder.onChange(() => {
    const now = endpoints();
    if (now === before) return;
    before = now;
    listener();
  });
}

const sliceKey = ({ metadata: { namespace, uid } }: Stored<Sandbox>): string =>
  keyFor(namespace, tcpFrontSliceName(uid));

/** Most sandboxes have no such slice, and need no check. */
function keysOf(sandbox: Stored<Sandbox>, slices: OwnWrites<EndpointSlice>): readonly string[] {
  const key = sliceKey(sandbox);
  return usesTcpFront(sandbox.spec) || slices.get(key) ? [key] : [];
}

/** The slice of the sandbox that controls a Service. */
function ownerKeys(service: Stored<Service>): readonly string[] {
  const owner = controllerOfKind(service, sandboxType);
  return owner ? [keyFor(service.metadata.namespace, tcpFrontSliceName(owner.uid))] : [];
}

/** Keeps the ledger up to date with the slices. */
function keepLedger(informer: Informer<EndpointSlice>, slices: OwnWrites<EndpointSlice>, ledger: PortLedger): Source {
  return () => {
    ledger.takeOver(informer.store.list());
    return informer.onChange(({ key, current }) => {
      // Our own last write is newer than the state that the watch reports.
      const slice = slices.get(key);
      if (current && slice) ledger.note(slice);
      else if (!slice) ledger.gone(key);
    });
  };
}
