import type { Clock } from "../../lib/clock.ts";
import type { Target } from "../sandbox/look.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import { dial } from "./dial.ts";
import { passes } from "./run-probe.ts";

/** Steps are a share of the time that it has taken so far, so that probing adds that share and no more to any wake. */
const steps = { share: 0.02, shortestMs: 2, longestMs: 50 } as const;
/** A SYN into a network that is not there yet is lost; the next attempt is sooner than the kernel's own second one. */
const attemptLimitMs = 250;

export interface Reached {
  /** The connection that proved it, for the first who waited. */
  readonly socket: WireSocket | undefined;
}

interface Probing {
  readonly stop: AbortController;
  /** In the order in which they came. */
  readonly waiters: Set<PromiseWithResolvers<void>>;
  socket: WireSocket | undefined;
}

/** Thousands may wait for one port. So many are let go in one turn of the loop, which others need meanwhile. */
const releasedAtOnce = 64;

/** Finds out when ports of Pods begin to accept, with one prober for each however many wait, and remembers it. */
export class Prober {
  readonly #clock: Clock;
  readonly #probing = new Map<string, Probing>();
  readonly #acceptedMs = new Map<string, Map<number, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Monotonic milliseconds when the port was first seen to accept; undefined when it was not, or was then refused. */
  acceptedMs({ podUid, port }: Pick<Target, "podUid" | "port">): number | undefined {
    return this.#acceptedMs.get(podUid)?.get(port);
  }

  /** The port refused after all: the next request waits for it again. */
  forget({ podUid, port }: Pick<Target, "podUid" | "port">): void {
    this.#acceptedMs.get(podUid)?.delete(port);
  }

  forgetPod(podUid: string): void {
    this.#acceptedMs.delete(podUid);
  }

  /** Resolves once the port accepts and the probes pass. The signal's abort ends this caller's wait alone. */
  async reach(target: Target, signal: AbortSignal): Promise<Reached> {
    signal.throwIfAborted();
    const probing = this.#probingOf(target);
    const waiter = Promise.withResolvers<void>();
    const leave = () => waiter.reject(signal.reason);
    probing.waiters.add(waiter);
    signal.addEventListener("abort", leave, { once: true });
    try {
      await waiter.promise;
      const { socket } = probing;
      probing.socket = undefined;
      return { socket };
    } finally {
      signal.removeEventListener("abort", leave);
      probing.waiters.delete(waiter);
      if (probing.waiters.size === 0) {
        probing.stop.abort(new Error("nobody waits for this port any more"));
        probing.socket?.destroy();
      }
    }
  }

  // Keyed by what is asked as well: a Pod that became Ready meanwhile is probed with less.
  #probingOf(target: Target): Probing {
    const key = `${target.podUid} ${target.ip} ${target.port} ${target.probes.length}`;
    const running = this.#probing.get(key);
    if (running && !running.stop.signal.aborted) return running;
    const probing: Probing = { stop: new AbortController(), waiters: new Set(), socket: undefined };
    this.#probing.set(key, probing);
    void this.#run(key, target, probing);
    return probing;
  }

  async #run(key: string, target: Target, probing: Probing): Promise<void> {
    try {
      probing.socket = await this.#probe(target, probing.stop.signal);
    } catch (error) {
      for (const { reject } of probing.waiters) reject(error);
      return;
    } finally {
      if (this.#probing.get(key) === probing) this.#probing.delete(key);
    }
    const waiters = [...probing.waiters];
    for (let at = 0; at < waiters.length; at += releasedAtOnce) {
      for (const { resolve } of waiters.slice(at, at + releasedAtOnce)) resolve();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #probe(target: Target, signal: AbortSignal): Promise<WireSocket> {
    const beganMs = this.#clock.ticksMs();
    for (;;) {
      const socket = await this.#attempt(target, signal);
      if (socket) return this.#accepted(target, socket);
      const shareMs = (this.#clock.ticksMs() - beganMs) * steps.share;
      await this.#clock.sleep(Math.min(Math.max(shareMs, steps.shortestMs), steps.longestMs), signal);
    }
  }

  async #attempt(target: Target, signal: AbortSignal): Promise<WireSocket | undefined> {
    const socket = await dial(target, attemptLimitMs, this.#clock, signal).catch(() => undefined);
    signal.throwIfAborted();
    if (!socket) return undefined;
    const verdicts = await Promise.all(
      target.probes.map((probe) => passes(target.ip, probe, this.#clock, signal)),
    ).finally(() => signal.aborted && socket.destroy());
    if (verdicts.every(Boolean)) return socket;
    socket.destroy();
    return undefined;
  }

  #accepted({ podUid, port }: Target, socket: WireSocket): WireSocket {
    const ports = this.#acceptedMs.get(podUid) ?? new Map<number, number>();
    ports.set(port, this.#clock.ticksMs());
    this.#acceptedMs.set(podUid, ports);
    return socket;
  }
}
