import { effectiveAutoResume } from "../../api/defaults.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Use } from "../activity/activity.ts";
import type { BondBook } from "../activity/bond-book.ts";
import { isIgnored } from "../activity/ignored-requests.ts";
import { isNavigation } from "../answer.ts";
import { ActivatorError } from "../errors.ts";
import { firstPortOf, type Routed } from "../find/find.ts";
import { ClientGone, type Leaver, type RequestHead } from "../request.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import { type Look, look, type Target } from "../sandbox/look.ts";
import type { Slots } from "../slots.ts";
import type { Wake, Waker } from "../wake/waker.ts";
import type { Connector, Upstream } from "./connector.ts";
import { DialError } from "./dial.ts";
import { type Hold, type Holds, holdLimitMs } from "./holds.ts";
import type { Prober } from "./prober.ts";

export interface ReachOptions {
  /** No request is held longer, whatever the sandbox and the client allow. */
  readonly proxyTimeoutMs: number;
  readonly unschedulableGraceMs: number | undefined;
  readonly allowLoopbackPodIp: boolean;
  /** How long a port that ought to be open is tried before the client is told. */
  readonly dialRetryMs: number;
}

export interface Surroundings {
  readonly options: ReachOptions;
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly waker: Waker;
  readonly prober: Prober;
  readonly connector: Connector;
  readonly slots: Slots;
  readonly holds: Holds;
  readonly bonds: BondBook;
  /** A sandbox runs because this replica asked for it, for a connection to that port. */
  readonly onWoken: (sandbox: Stored<Sandbox>, port: number) => void;
}

/** What happens to one errand on its way, for whoever keeps its record. */
export interface Journey {
  held(): Disposable;
  woke(wake: Wake): void;
  dialFailed(error: DialError): void;
}

/** After so long without an answer from the API server, addresses may belong to others. */
const longestSilenceMs = 120_000;
/** A person who opens a page sees within a second that something happens. */
const waitPageAfterMs = 1_000;

/** Which sandbox, and which port of it; where it was named by a request, what else that said. */
export type Destination = Pick<Routed, "namespace" | "name" | "port"> &
  Partial<Routed> & {
    /** Of the one that is meant, where it was not named by name alone: another of that name is not it. */
    readonly uid?: string;
  };

/** Who waits to be brought to a sandbox: a request, or a connection that is no HTTP. */
export interface Waiting extends Leaver {
  /** Monotonic milliseconds of the clock when it was there. */
  readonly seenMs: number;
  /** Without one no rule by path or user agent applies, nobody is shown a page, and the connection is always a fresh one. */
  readonly head?: RequestHead;
}

/** Somebody who is to be brought to a sandbox, and may be. */
export interface Errand {
  readonly to: Destination;
  readonly waiting: Waiting;
  readonly around: Surroundings;
  readonly journey: Journey;
  readonly use: Use;
}

/**
 * A connection to the sandbox, waking it if it sleeps. What waited counts as sent when it resolves.
 *
 * @throws ActivatorError when there is none and none will come in time; ClientGone when nobody waits for it any more.
 */
export async function reach(errand: Errand): Promise<Upstream> {
  const { around, waiting, use } = errand;
  const seen = lookNow(errand, undefined);
  if (seen.is === "refused") throw seen.error;
  if (seen.is === "addressed" && around.prober.acceptedMs(seen.target) !== undefined) {
    const { target } = seen;
    const idle = around.connector.idle(target, waiting.head);
    if (idle) {
      use.sentTo(target.podUid); // in the step that looked
      return idle;
    }
    using end = untilLeft(waiting);
    const dialled = await tryDial(target, errand, end.signal);
    if (dialled && commit(dialled, errand)) return dialled;
  }
  return hold(errand);
}

function untilLeft(waiting: Waiting): Disposable & { readonly signal: AbortSignal } {
  const end = new AbortController();
  const leave = () => end.abort(new ClientGone("the client left"));
  if (waiting.left) leave();
  waiting.onLeave(leave);
  return { signal: end.signal, [Symbol.dispose]: () => waiting.onLeave(undefined) };
}

async function hold(errand: Errand): Promise<Upstream> {
  const { to, around, journey } = errand;
  const { namespace, name } = to;
  using _slot = around.slots.admit(namespace, name);
  using _counted = journey.held();
  using bell = around.cluster.listen(namespace, name);
  const uid = to.uid ?? around.cluster.sandbox(namespace, name)?.metadata.uid;
  const wait = new Wait(errand);
  using end = untilLeft(errand.waiting);
  using held = beginHold(errand, end.signal, () => wait.waitingFor);
  for (;;) {
    held.signal.throwIfAborted();
    bell.reset();
    const upstream = await wait.step(lookNow(errand, uid), () => bell.next(), held.signal);
    if (upstream && commit(upstream, errand)) return upstream;
  }
}

function beginHold({ to, waiting, around }: Errand, gone: AbortSignal, waitingFor: () => string): Hold {
  const { holds, clock, cluster, options } = around;
  const subject = to.name;
  const autoResume = effectiveAutoResume(cluster.sandbox(to.namespace, subject)?.spec ?? {});
  const limitMs = holdLimitMs(autoResume.timeoutSeconds * 1000, to.timeoutMs, options.proxyTimeoutMs);
  const mayPage = autoResume.waitPage === "Browser" && limitMs > waitPageAfterMs;
  const page = mayPage && waiting.head !== undefined && isNavigation(waiting.head);
  const leftMs = (page ? waitPageAfterMs : limitMs) - (clock.ticksMs() - waiting.seenMs);
  return holds.begin({ gone }, leftMs, () =>
    page
      ? new ActivatorError("Waking", { subject })
      : new ActivatorError("WakeTimedOut", { subject, because: `waiting for ${waitingFor()}` }),
  );
}

function lookNow({ to, waiting, around, use }: Errand, firstUid: string | undefined): Look {
  const { cluster, clock, bonds: book, options } = around;
  if (cluster.silentMs() > longestSilenceMs) throw new ActivatorError("ClusterUnseen");
  const sandbox = cluster.sandbox(to.namespace, to.name);
  if (!cluster.synced) return { is: "pending", on: "the first view of the cluster", recheckAfterMs: 100 };
  const { allowLoopbackPodIp, unschedulableGraceMs } = options;
  const seen = look({
    ...{ routed: to, sandbox, firstUid: firstUid ?? to.uid, allowLoopbackPodIp, unschedulableGraceMs },
    pod: sandbox && cluster.podOf(sandbox),
    bonds: book.of(sandbox?.metadata.uid ?? ""),
    ignored: isIgnored(waiting.head, sandbox?.spec.autoSuspension),
    now: clock.now(),
  });
  if (sandbox && seen.is !== "refused") use.begin(sandbox);
  return seen;
}

async function tryDial(target: Target, errand: Errand, signal: AbortSignal): Promise<Upstream | undefined> {
  const { connector, prober } = errand.around;
  try {
    return await connector.connect(target, errand.waiting.head, signal);
  } catch (error) {
    if (!(error instanceof DialError)) throw error;
    prober.forget(target);
    errand.journey.dialFailed(error);
    return undefined;
  }
}

/**
 * Counts the request as sent, if its Pod may still be sent to; if not, the connection is closed and the request waits on.
 * While it dialled, that Pod may have been forsworn, and seen gone: so all is looked at anew, in the step that counts.
 */
function commit(upstream: Upstream, errand: Errand): boolean {
  const { podUid } = upstream.target;
  let mayGo = false;
  try {
    const seen = lookNow(errand, undefined);
    mayGo = seen.is === "addressed" && seen.target.podUid === podUid;
  } finally {
    if (mayGo) errand.use.sentTo(podUid);
    else upstream.socket.destroy();
  }
  return mayGo;
}

/** One request's wait: does what the last look asks for, until there is a connection or a reason why there is none. */
class Wait {
  /** What it waits for, in words for the client. */
  waitingFor = "its state to be known";
  readonly #errand: Errand;
  #oldSinceMs: number | undefined;

  constructor(errand: Errand) {
    this.#errand = errand;
  }

  /** Resolves with a connection, or with nothing when it is time to look again. */
  async step(seen: Look, changed: () => Promise<void>, signal: AbortSignal): Promise<Upstream | undefined> {
    switch (seen.is) {
      case "refused":
        throw seen.error;
      case "asleep":
        this.waitingFor = "the API server to take the wake";
        await this.#wake(seen.sandbox, signal);
        this.waitingFor = "the wake to be seen";
        return this.#first(signal, changed, undefined);
      case "pending":
        this.waitingFor = seen.on;
        return this.#first(signal, changed, seen.recheckAfterMs);
      case "addressed":
        this.waitingFor = `port ${seen.target.port} to accept connections`;
        return this.#reachTarget(seen.target, seen.trouble, changed, signal);
    }
  }

  async #wake(sandbox: Stored<Sandbox>, signal: AbortSignal): Promise<void> {
    const { around, to, journey } = this.#errand;
    const wake = await around.waker.wake(sandbox, signal);
    journey.woke(wake);
    if (wake.mine && wake.answer) around.onWoken(wake.answer, to.port ?? firstPortOf(sandbox));
  }

  async #reachTarget(
    target: Target,
    trouble: ActivatorError | undefined,
    changed: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<Upstream | undefined> {
    if (trouble) {
      const upstream = await tryDial(target, this.#errand, signal);
      if (upstream) return upstream;
      throw trouble;
    }
    return this.#first(signal, changed, this.#patienceMs(target), (step) => this.#connect(target, step));
  }

  async #connect(target: Target, signal: AbortSignal): Promise<Upstream | undefined> {
    const { socket } = await this.#errand.around.prober.reach(target, signal);
    if (socket && !socket.destroyed && socket.writable) return { target, socket };
    return tryDial(target, this.#errand, signal);
  }

  // A port that is closed on a Pod that had all the time to open it is more likely the wrong one.
  #patienceMs({ young }: Target): number | undefined {
    if (young) return undefined;
    const { clock, options } = this.#errand.around;
    const nowMs = clock.ticksMs();
    this.#oldSinceMs ??= nowMs;
    const leftMs = this.#oldSinceMs + options.dialRetryMs - nowMs;
    if (leftMs <= 0) throw new ActivatorError("ConnectFailed", { subject: this.#errand.to.name });
    return leftMs;
  }

  /** Whatever is first: the work's result, a change, the time to look again, or the end of the hold. */
  async #first(
    signal: AbortSignal,
    changed: () => Promise<void>,
    recheckAfterMs: number | undefined,
    work?: (step: AbortSignal) => Promise<Upstream | undefined>,
  ): Promise<Upstream | undefined> {
    const step = new AbortController();
    const nothing = () => undefined;
    const ended = Promise.withResolvers<undefined>();
    const leave = () => ended.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    const working = work?.(step.signal);
    const racers: Promise<Upstream | undefined>[] = [changed().then(nothing), ended.promise];
    if (working) racers.push(working);
    const { clock } = this.#errand.around;
    if (recheckAfterMs !== undefined) racers.push(clock.sleep(recheckAfterMs, step.signal).then(nothing, nothing));
    let won: Upstream | undefined;
    try {
      if (signal.aborted) leave();
      won = await Promise.race(racers);
      return won;
    } finally {
      step.abort(new Error("looking again"));
      signal.removeEventListener("abort", leave);
      // A connection that came too late is nobody's.
      working?.then((late) => late !== won && late?.socket.destroy(), nothing);
    }
  }
}
