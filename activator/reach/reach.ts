import { effectiveAutoResume } from "../../api/defaults.ts";
import type { Clock } from "../../lib/clock.ts";
import { isNavigation } from "../answer.ts";
import type { Allowed } from "../authorize/authorizer.ts";
import { ActivatorError } from "../errors.ts";
import type { Incoming } from "../request.ts";
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
}

/** What happens to one request on its way, for whoever keeps its record. */
export interface Journey {
  held(): Disposable;
  woke(wake: Wake): void;
  dialFailed(error: DialError): void;
}

/** After so long without an answer from the API server, addresses may belong to others. */
const longestSilenceMs = 120_000;
/** A person who opens a page sees within a second that something happens. */
const waitPageAfterMs = 1_000;

/**
 * A connection to the sandbox, waking it if it sleeps.
 *
 * @throws ActivatorError when there is none and none will come in time; ClientGone when nobody waits for it any more.
 */
export async function reach(
  allowed: Allowed,
  incoming: Incoming,
  around: Surroundings,
  journey: Journey,
): Promise<Upstream> {
  const seen = lookNow(allowed, around, undefined);
  if (seen.is === "refused") throw seen.error;
  if (seen.is === "addressed" && around.prober.acceptedMs(seen.target) !== undefined) {
    const { target } = seen;
    const idle = around.connector.idle(target, incoming.head);
    const upstream = idle ?? (await tryDial(target, incoming, around, incoming.gone, journey));
    if (upstream) return upstream;
  }
  return hold(allowed, incoming, around, journey);
}

async function hold(allowed: Allowed, incoming: Incoming, around: Surroundings, journey: Journey): Promise<Upstream> {
  const { namespace, name } = allowed.routed;
  using _slot = around.slots.admit(namespace, name);
  using _counted = journey.held();
  using bell = around.cluster.listen(namespace, name);
  const uid = around.cluster.sandbox(namespace, name)?.metadata.uid;
  const wait = new Wait(allowed, incoming, around, journey);
  using held = beginHold(allowed, incoming, around, () => wait.waitingFor);
  for (;;) {
    held.signal.throwIfAborted();
    bell.reset();
    const upstream = await wait.step(lookNow(allowed, around, uid), () => bell.next(), held.signal);
    if (upstream) return upstream;
  }
}

function beginHold(
  { routed }: Allowed,
  incoming: Incoming,
  { holds, clock, cluster, options }: Surroundings,
  waitingFor: () => string,
): Hold {
  const subject = routed.name;
  const autoResume = effectiveAutoResume(cluster.sandbox(routed.namespace, subject)?.spec ?? {});
  const limitMs = holdLimitMs(autoResume.timeoutSeconds * 1000, routed.timeoutMs, options.proxyTimeoutMs);
  const page = autoResume.waitPage === "Browser" && limitMs > waitPageAfterMs && isNavigation(incoming.head);
  const leftMs = (page ? waitPageAfterMs : limitMs) - (clock.ticksMs() - incoming.seenMs);
  return holds.begin(incoming, leftMs, () =>
    page
      ? new ActivatorError("Waking", { subject })
      : new ActivatorError("WakeTimedOut", { subject, because: `waiting for ${waitingFor()}` }),
  );
}

function lookNow({ routed }: Allowed, { cluster, clock, options }: Surroundings, firstUid: string | undefined): Look {
  if (cluster.silentMs() > longestSilenceMs) throw new ActivatorError("ClusterUnseen");
  if (!cluster.synced) return { is: "pending", on: "the first view of the cluster", recheckAfterMs: 100 };
  const { allowLoopbackPodIp, unschedulableGraceMs } = options;
  const sandbox = cluster.sandbox(routed.namespace, routed.name);
  const pod = sandbox && cluster.podOf(sandbox);
  return look({ routed, sandbox, pod, firstUid, allowLoopbackPodIp, unschedulableGraceMs, now: clock.now() });
}

async function tryDial(
  target: Target,
  { head }: Incoming,
  { connector, prober }: Surroundings,
  signal: AbortSignal,
  journey: Journey,
): Promise<Upstream | undefined> {
  try {
    return await connector.connect(target, head, signal);
  } catch (error) {
    if (!(error instanceof DialError)) throw error;
    prober.forget(target);
    journey.dialFailed(error);
    return undefined;
  }
}

/** One request's wait: does what the last look asks for, until there is a connection or a reason why there is none. */
class Wait {
  /** What it waits for, in words for the client. */
  waitingFor = "its state to be known";
  readonly #subject: string;
  readonly #incoming: Incoming;
  readonly #around: Surroundings;
  readonly #journey: Journey;
  #oldSinceMs: number | undefined;

  constructor({ routed }: Allowed, incoming: Incoming, around: Surroundings, journey: Journey) {
    this.#subject = routed.name;
    this.#incoming = incoming;
    this.#around = around;
    this.#journey = journey;
  }

  /** Resolves with a connection, or with nothing when it is time to look again. */
  async step(seen: Look, changed: () => Promise<void>, signal: AbortSignal): Promise<Upstream | undefined> {
    switch (seen.is) {
      case "refused":
        throw seen.error;
      case "asleep":
        this.waitingFor = "the API server to take the wake";
        this.#journey.woke(await this.#around.waker.wake(seen.sandbox, signal));
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

  async #reachTarget(
    target: Target,
    trouble: ActivatorError | undefined,
    changed: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<Upstream | undefined> {
    if (trouble) {
      const upstream = await tryDial(target, this.#incoming, this.#around, signal, this.#journey);
      if (upstream) return upstream;
      throw trouble;
    }
    return this.#first(signal, changed, this.#patienceMs(target), (step) => this.#connect(target, step));
  }

  async #connect(target: Target, signal: AbortSignal): Promise<Upstream | undefined> {
    const { socket } = await this.#around.prober.reach(target, signal);
    if (socket && !socket.destroyed && socket.writable) return { target, socket };
    return tryDial(target, this.#incoming, this.#around, signal, this.#journey);
  }

  // A port that is closed on a Pod that had all the time to open it is more likely the wrong one.
  #patienceMs({ young }: Target): number | undefined {
    if (young) return undefined;
    const nowMs = this.#around.clock.ticksMs();
    this.#oldSinceMs ??= nowMs;
    const leftMs = this.#oldSinceMs + this.#around.options.dialRetryMs - nowMs;
    if (leftMs <= 0) throw new ActivatorError("ConnectFailed", { subject: this.#subject });
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
    const { clock } = this.#around;
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
