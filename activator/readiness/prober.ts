import { runGuarded } from "../../lib/guard/guard.ts";
import { onAbort } from "../../lib/guard/on-abort.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { dial } from "../connect/dial.ts";
import { addressKey, ByAddress, type Place, type PodAddress } from "../pod-connections/place.ts";
import type { Target } from "../sandbox/resolve.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import { ProbeBudget, type ProbeLease } from "./probe-budget.ts";
import { passes } from "./run-probe.ts";

/** A step is a share of the time spent so far, so that probing adds at most that share to a wake. */
const steps = { share: 0.02, shortestMs: 2, longestMs: 50 } as const;
/**
 * The shortest step, in milliseconds for each port of one Pod that is probed. Clients name the ports, perhaps thousands:
 * together they cost as many dials as one port does at its start.
 */
const stepPerPortMs = 2;
/** A SYN into a network that is not ready is lost; the next attempt comes before the kernel's first retransmission. */
const attemptLimitMs = 250;

export interface Reached {
  /** The connection that proved it, for the first waiting request. */
  readonly socket: WireSocket | undefined;
}

/** Called after each attempt that failed as a whole, with the monotonic milliseconds at its beginning. */
export type AttemptFailed = (beganMs: number) => void;

interface Waiter extends PromiseWithResolvers<void> {
  readonly attemptFailed: AttemptFailed;
}

interface Probing {
  readonly stop: AbortController;
  /** In order of arrival. */
  readonly waiters: Set<Waiter>;
  socket: WireSocket | undefined;
}

/** The number of accepting ports that are remembered of one address of a Pod. Clients name the ports, and a Pod may listen on all of them. */
export const acceptedPortsMax = 256;

/** Thousands may wait for one port. This many are released in one turn of the event loop. */
const releasedAtOnce = 64;

/** Finds out when ports of Pods begin to accept, with one prober for each port, and remembers it. */
export class Prober {
  readonly #clock: Clock;
  readonly #budget: ProbeBudget;
  readonly #isInView: (address: PodAddress) => boolean;
  readonly #probing = new Map<string, Probing>();
  /** The number of ports that are probed, by Pod. */
  readonly #portsOf = new Map<string, number>();
  /** By port. Once an address has the maximum, its ports are in the order of their last use. */
  readonly #acceptedMs = new ByAddress<Map<number, number>>();

  /** @param isInView whether the Pod still has this address. */
  constructor(
    clock: Clock,
    budget: ProbeBudget = new ProbeBudget(clock),
    isInView: (address: PodAddress) => boolean = () => true,
  ) {
    this.#clock = clock;
    this.#budget = budget;
    this.#isInView = isInView;
  }

  /**
   * Monotonic milliseconds when the port was first seen to accept. Undefined if it was not, if it refused later, or if too many
   * other ports of the Pod were used since.
   */
  acceptedMs(place: Omit<Place, "namespace">): number | undefined {
    const { port } = place;
    const ports = this.#acceptedMs.get(place);
    const acceptedMs = ports?.get(port);
    if (ports && acceptedMs !== undefined && ports.size >= acceptedPortsMax) putLast(ports, port, acceptedMs);
    return acceptedMs;
  }

  /** The port refused a connection: the next request waits for it again. */
  forget(place: Place): void {
    this.#acceptedMs.get(place)?.delete(place.port);
  }

  /** The Pod has lost this address. */
  forgetAddress(address: PodAddress): void {
    this.#acceptedMs.delete(address);
  }

  /** Resolves once the port accepts and the probes pass. The signal's abort ends this caller's wait alone. */
  async reach(target: Target, signal: AbortSignal, attemptFailed: AttemptFailed = () => {}): Promise<Reached> {
    signal.throwIfAborted();
    const probing = this.#probingOf(target);
    const waiter = { ...Promise.withResolvers<void>(), attemptFailed };
    probing.waiters.add(waiter);
    using _leaving = onAbort(signal, () => waiter.reject(signal.reason));
    try {
      await waiter.promise;
      const { socket } = probing;
      probing.socket = undefined;
      return { socket };
    } finally {
      probing.waiters.delete(waiter);
      if (probing.waiters.size === 0) {
        probing.stop.abort(new Error("no request waits for this port"));
        probing.socket?.destroy();
      }
    }
  }

  // The key contains the probes: a Pod that became Ready meanwhile is probed with fewer.
  #probingOf(target: Target): Probing {
    const key = `${addressKey(target)} ${target.port} ${target.probes.length}`;
    const running = this.#probing.get(key);
    if (running && !running.stop.signal.aborted) return running;
    const probing: Probing = { stop: new AbortController(), waiters: new Set(), socket: undefined };
    this.#probing.set(key, probing);
    this.#portsOf.set(target.podUid, this.#probedOf(target) + 1);
    runGuarded("wake", () => this.#run(key, target, probing));
    return probing;
  }

  async #run(key: string, target: Target, probing: Probing): Promise<void> {
    try {
      const socket = await this.#probe(target, probing);
      if (probing.stop.signal.aborted) socket.destroy();
      else probing.socket = socket;
    } catch (error) {
      for (const { reject } of probing.waiters) reject(error);
      return;
    } finally {
      if (this.#probing.get(key) === probing) this.#probing.delete(key);
      const left = this.#probedOf(target) - 1;
      if (left > 0) this.#portsOf.set(target.podUid, left);
      else this.#portsOf.delete(target.podUid);
    }
    const waiters = [...probing.waiters];
    for (let at = 0; at < waiters.length; at += releasedAtOnce) {
      for (const { resolve } of waiters.slice(at, at + releasedAtOnce)) resolve();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #probe(target: Target, { stop: { signal }, waiters }: Probing): Promise<WireSocket> {
    const beganMs = this.#clock.ticksMs();
    for (let isFirst = true; ; isFirst = false) {
      const { socket, attemptMs } = await this.#attempt(target, isFirst, signal);
      if (socket) return this.#accepted(target, socket);
      for (const { attemptFailed } of waiters) attemptFailed(attemptMs);
      const shareMs = (this.#clock.ticksMs() - beganMs) * steps.share;
      const stepMs = Math.min(Math.max(shareMs, steps.shortestMs), steps.longestMs);
      await this.#clock.sleep(Math.max(stepMs, this.#probedOf(target) * stepPerPortMs), signal);
    }
  }

  #probedOf({ podUid }: Target): number {
    return this.#portsOf.get(podUid) ?? 0;
  }

  /** `attemptMs`: its beginning, after the wait for its turn. */
  async #attempt(target: Target, isFirst: boolean, signal: AbortSignal) {
    const count = Math.max(target.probes.length, 1);
    using lease = await this.#budget.take(target.namespace, { count, isFirst }, signal);
    const attemptMs = this.#clock.ticksMs();
    return { attemptMs, socket: await this.#connection(target, lease, signal) };
  }

  // The probes run first: a program that serves one connection at a time answers no probe while another connection is open.
  async #connection(target: Target, lease: ProbeLease, signal: AbortSignal): Promise<WireSocket | undefined> {
    const { ip, probes } = target;
    const limits = { clock: this.#clock, dialLimitMs: attemptLimitMs, signal };
    const verdicts = await Promise.all(probes.map((probe) => passes(ip, probe, limits)));
    if (!verdicts.every(Boolean)) return undefined;
    if (probes.length > 0) lease.add();
    return await this.#prove(target, signal);
  }

  /** A connection that proves that the port accepts; undefined if the port does not accept. */
  async #prove(target: Target, signal: AbortSignal): Promise<WireSocket | undefined> {
    const socket = await dial(target, attemptLimitMs, this.#clock, signal).catch(() => undefined);
    if (signal.aborted) socket?.destroy();
    signal.throwIfAborted();
    return socket;
  }

  #accepted(target: Target, socket: WireSocket): WireSocket {
    if (!this.#isInView(target)) return socket; // nothing would remove the entry
    const ports = this.#acceptedMs.get(target) ?? new Map<number, number>();
    putLast(ports, target.port, this.#clock.ticksMs());
    const [oldest] = ports.keys();
    if (ports.size > acceptedPortsMax && oldest !== undefined) ports.delete(oldest);
    this.#acceptedMs.set(target, ports);
    return socket;
  }
}

function putLast(ports: Map<number, number>, port: number, acceptedMs: number): void {
  ports.delete(port);
  ports.set(port, acceptedMs);
}
