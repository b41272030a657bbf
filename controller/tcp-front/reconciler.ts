import {
  type EndpointSlice,
  endpointSliceType,
  sandboxUidOf,
  tcpFrontOf,
  usesTcpFront,
} from "../../api/between-programs/tcp-front.ts";
import type { Service } from "../../api/kinds/core.ts";
import { keyFor, parseKey, type Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError, isAlreadyExists, isConflict, isNotFound, undefinedIfNotFound } from "../../kube/client/errors.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Store } from "../../kube/informer/informer.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Outcome } from "../../lib/queues/workers.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import type { OwnWrites } from "../own-writes.ts";
import { ownershipOf } from "../ownership.ts";
import { isFront } from "../sandbox/service/make-service.ts";
import type { Creations } from "../stores/creations.ts";
import type { ActivatorFinder } from "../suspension/activators/activators.ts";
import type { Confirmer } from "./confirmer.ts";
import { countPorts, decide, type FrontAction } from "./decide.ts";
import { notWritten, tooFewPorts } from "./events.ts";
import type { ObservedFront, SeenActivator } from "./observed-front.ts";
import type { PortShortage, PortShortages } from "./port-shortages.ts";
import type { PortLedger, PortLimit } from "./ports/port-ledger.ts";
import type { PortWaiters } from "./ports/port-waiters.ts";
import type { TcpFrontMetrics } from "./tcp-front-metrics.ts";
import { isNamespaceGone, writeSlice } from "./write-slice.ts";
import type { WriteTurns } from "./write-turns.ts";

export interface TcpFrontReconcilerOptions {
  readonly client: KubeClient;
  readonly sandboxes: Pick<Store<Sandbox, "uid">, "by">;
  readonly services: Pick<Store<Service>, "get">;
  readonly slices: OwnWrites<EndpointSlice>;
  readonly finder: ActivatorFinder;
  readonly confirmer: Confirmer;
  readonly creations: Creations;
  readonly ledger: PortLedger;
  readonly turns: WriteTurns;
  readonly waiters: PortWaiters;
  readonly shortages: PortShortages;
  readonly events: EventRecorder | undefined;
  readonly metrics: TcpFrontMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly quarantineMs: number;
}

/** Keeps the slice of one sandbox at a time, under its key. */
export class TcpFrontReconciler {
  readonly #options: TcpFrontReconcilerOptions;
  readonly #mayLog: OncePerMinute;

  constructor(options: TcpFrontReconcilerOptions) {
    this.#options = options;
    this.#mayLog = new OncePerMinute(options.clock);
  }

  /** @throws Error when the slice could not be written, and may be the next time. */
  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const { turns, creations } = this.#options;
    const first = this.#plan(key);
    if (!first.action) return this.#rest(key, first);
    const { sandbox, action } = first;
    const isCreated = sandbox !== undefined && action.do === "create";
    const waitMs = isCreated ? creations.waitMs(sandbox, child) : 0;
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    if (!turns.take(key, action.urgency)) return first.outcome;
    if (!isCreated || !creations.isRepeated(sandbox, child)) return this.#carryOut(key, first, signal);
    if (!(await this.#isThere(sandbox, signal))) return {};
    // Meanwhile another slice may have got the ports that were free.
    const now = this.#plan(key);
    return now.action ? this.#carryOut(key, now, signal) : this.#rest(key, now);
  }

  /** What is to be done now. Its ports are free only until something is awaited. */
  #plan(key: string): Plan {
    const sandbox = this.#sandboxOf(key);
    const { observed, limitedBy } = this.#observe(key, sandbox);
    this.#listen(key, observed.slice);
    const { action, recheckAfterMs, unallocated } = decide(observed);
    const shortage = unallocated > 0 && limitedBy ? { ports: unallocated, limitedBy } : undefined;
    this.#reportShortage(key, sandbox, shortage);
    const awaited = shortage?.limitedBy === "sandbox" ? undefined : shortage?.limitedBy;
    if (awaited) this.#options.waiters.wait(key, awaited);
    const outcome: Outcome = recheckAfterMs === undefined ? {} : { requeueAfterMs: recheckAfterMs };
    const plan = { sandbox, slice: observed.slice, waitsForPorts: awaited !== undefined, outcome };
    return action ? { ...plan, action } : { ...plan, action: undefined };
  }

  /** Nothing is to be written. */
  #rest(key: string, { slice, waitsForPorts, outcome }: Plan): Outcome {
    const { turns, ledger, waiters } = this.#options;
    turns.drop(key);
    if (!waitsForPorts) waiters.settle(key);
    // A terminating sandbox may soon be recreated with the same ports.
    if (!slice?.metadata.deletionTimestamp) ledger.release(key);
    return outcome;
  }

  /** Call it without awaiting anything after `#plan`. */
  async #carryOut(key: string, plan: PlanOf<FrontAction>, signal: AbortSignal): Promise<Outcome> {
    const { ledger, waiters } = this.#options;
    const { action, sandbox, slice, waitsForPorts, outcome } = plan;
    if (!this.#reserve(key, action)) return { requeueAfterMs: retryMs };
    if (!waitsForPorts) waiters.settle(key);
    const foreign = ledger.foreign(key).length;
    const written = await this.#perform(key, action, sandbox, signal);
    if (written && slice && (foreign > 0 || !tcpFrontOf(slice))) this.#reportForeign(key, foreign);
    return written ? outcome : { requeueAfterMs: retryMs };
  }

  /** That very sandbox, if its Service is to lead to the activators. */
  #sandboxOf(key: string): Stored<Sandbox> | undefined {
    const { namespace, name } = parseKey(key);
    const [sandbox] = this.#options.sandboxes.by("uid", sandboxUidOf(name));
    if (!sandbox || sandbox.metadata.namespace !== namespace || sandbox.metadata.deletionTimestamp) return undefined;
    return usesTcpFront(sandbox.spec) ? sandbox : undefined;
  }

  /** Read before a second creation for a sandbox as it was seen: its store may not show that it was deleted. */
  async #isThere(sandbox: Stored<Sandbox>, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#options;
    const { namespace, name, uid } = sandbox.metadata;
    const now = await client.get(sandboxType, { namespace, name }, signal).catch(undefinedIfNotFound);
    return now?.metadata.uid === uid && !now.metadata.deletionTimestamp;
  }

  #reportShortage(key: string, sandbox: Stored<Sandbox> | undefined, shortage: PortShortage | undefined): void {
    const { shortages, events, sandboxes } = this.#options;
    if (!sandbox && !isOfAnother(key, sandboxes)) shortages.forget(sandboxUidOf(parseKey(key).name));
    if (!sandbox) return;
    if (shortage) events?.record(tooFewPorts(sandbox, shortage));
    shortages.note(sandbox, shortage);
  }

  /** Another client wrote the slice, or into it. */
  #reportForeign(key: string, ports: number): void {
    const { metrics, log } = this.#options;
    metrics.foreign();
    const { namespace, name } = parseKey(key);
    // A tenant can do it in a loop.
    if (!this.#mayLog.asks(namespace ?? "")) return;
    log.warn(
      { namespace, slice: name, ports },
      "another client wrote into an EndpointSlice of the controller; repaired",
    );
  }

  #observe(key: string, sandbox: Stored<Sandbox> | undefined): Observation {
    const { slices, services, ledger, clock, quarantineMs } = this.#options;
    const service = sandbox && services.get(keyFor(sandbox.metadata.namespace, sandbox.metadata.name));
    const had = { slice: slices.get(key), reserved: ledger.reservedFor(key), contested: ledger.contested(key) };
    const isOwn = sandbox && service && ownershipOf(service, sandbox) === "owned" && isFront(service);
    const grant = sandbox && ledger.grant(key, countPorts(sandbox, had));
    const observed = {
      now: clock.now(),
      quarantineMs,
      rested: ledger.restedMs(key),
      sandbox,
      hasService: isOwn === true && !service?.metadata.deletionTimestamp,
      ...had,
      freePorts: grant?.ports ?? [],
      activators: sandbox ? this.#activators(sandbox, had.slice) : [],
    };
    return { observed, limitedBy: grant?.limitedBy };
  }

  #activators(
    { metadata: { uid: sandboxUid } }: Stored<Sandbox>,
    slice: Stored<EndpointSlice> | undefined,
  ): readonly SeenActivator[] {
    const { finder, confirmer } = this.#options;
    const ports = ((slice && tcpFrontOf(slice)?.ports) ?? []).map(({ activatorPort }) => activatorPort);
    return finder.known().flatMap(({ id, endpoint }): readonly SeenActivator[] => {
      if (!endpoint) return [];
      return [
        {
          endpoint,
          listensOn: new Set(ports.filter((activatorPort) => confirmer.listens(id, { activatorPort, sandboxUid }))),
        },
      ];
    });
  }

  /** Has the activators asked about the ports in the slice, because activators follow the slice. */
  #listen(key: string, slice: Stored<EndpointSlice> | undefined): void {
    if (isOfAnother(key, this.#options.sandboxes)) return;
    const front = slice && !slice.metadata.deletionTimestamp ? tcpFrontOf(slice) : undefined;
    const ports = front && front.freedAt === undefined ? front.ports : [];
    const uid = sandboxUidOf(parseKey(key).name);
    this.#options.confirmer.want(
      uid,
      ports.map(({ activatorPort }) => activatorPort),
    );
  }

  /** Returns whether it was written; if not, another client was faster. */
  async #perform(
    key: string,
    action: FrontAction,
    sandbox: Stored<Sandbox> | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { ledger, slices, metrics, events } = this.#options;
    try {
      await writeSlice(key, action, this.#options, signal);
    } catch (error) {
      signal.throwIfAborted();
      metrics.failed(action.do);
      // Its sandbox is deleted too.
      if (isNamespaceGone(error)) return true;
      if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) return this.#readAgain(key, signal);
      if (sandbox && error instanceof ApiError) events?.record(notWritten(sandbox, error.message));
      throw error;
    }
    metrics.written(action.do);
    if (sandbox && action.do === "create") this.#options.creations.note(sandbox, child);
    const slice = slices.get(key);
    if (action.do !== "delete" && slice) {
      ledger.note(slice);
      ledger.release(key);
      this.#listen(key, slice);
    }
    return true;
  }

  /** Whether the ports of the action were still free for this slice. If not, nothing is reserved. */
  #reserve(key: string, action: FrontAction): boolean {
    const { ledger } = this.#options;
    const front = action.do === "delete" ? action.keep : action.front;
    if (!front || front.freedAt !== undefined) return true;
    const had = new Set(ledger.portsOf(key));
    const added = front.ports.filter(({ activatorPort }) => !had.has(activatorPort));
    if (!ledger.reserve(key, action.do === "delete" ? front.ports : added)) return false;
    for (const { activatorPort } of added) ledger.gave(activatorPort);
    return true;
  }

  /** Reads the slice again: another leader may have written it. */
  async #readAgain(key: string, signal: AbortSignal): Promise<boolean> {
    const { client, slices, ledger } = this.#options;
    const { namespace, name } = parseKey(key);
    await slices
      .write(key, () => client.get(endpointSliceType, { namespace, name }, signal))
      .catch((error: unknown) => {
        // The watch is going to say that it is gone.
        if (!isNotFound(error)) throw error;
      });
    const slice = slices.get(key);
    if (slice) ledger.note(slice);
    return false;
  }
}

/** One decision about a slice. */
interface PlanOf<A extends FrontAction | undefined> {
  readonly sandbox: Stored<Sandbox> | undefined;
  /** As it was observed. */
  readonly slice: Stored<EndpointSlice> | undefined;
  readonly action: A;
  /** Whether it lacks ports that may become free. */
  readonly waitsForPorts: boolean;
  readonly outcome: Outcome;
}

type Plan = PlanOf<FrontAction> | PlanOf<undefined>;

interface Observation {
  readonly observed: ObservedFront;
  /** What keeps the sandbox from ports that it misses. */
  readonly limitedBy: PortLimit | undefined;
}

/** Whether a slice has the name of a slice in another namespace. A tenant can write it, and changes nothing for that sandbox. */
export function isOfAnother(key: string, sandboxes: TcpFrontReconcilerOptions["sandboxes"]): boolean {
  const { namespace, name } = parseKey(key);
  const [sandbox] = sandboxes.by("uid", sandboxUidOf(name));
  return sandbox !== undefined && sandbox.metadata.namespace !== namespace;
}

const retryMs = 50;
/** What `Creations` knows the EndpointSlice of a sandbox by. */
const child = "EndpointSlice";
