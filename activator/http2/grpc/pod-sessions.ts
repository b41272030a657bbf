import { TurnoverSet } from "../../../lib/data/turnover.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { type ClockReading, readClocks } from "../../../lib/time/clock-jumps.ts";
import type { Upstream } from "../../connect/connector.ts";
import type { IdleLimits } from "../../pod-connections/idle-limits.ts";
import { IdleShares } from "../../pod-connections/idle-shares.ts";
import { ByAddress, type Place } from "../../pod-connections/place.ts";
import type { WireSocket } from "../../socket/wire-socket.ts";
import type { Sweep } from "../../sweep.ts";
import { useLeanBind } from "../node-internals/lean-bind.ts";
import { PodSession } from "./pod-session.ts";
import { connectionsMax, type PodLimits, PodOfSessions, type PortHost, PortSessions } from "./port-sessions.ts";

/**
 * The connections of HTTP/2 to Pods, by place. Idle ones have the limits of those of HTTP/1.1: beyond one, the one is closed that has been
 * idle longest, of the port or the Pod, and for limits that several share, of a Pod that has most.
 */
export class PodSessions implements PortHost, Disposable {
  readonly sweep: Sweep;
  readonly #limits: IdleLimits & PodLimits;
  readonly #clock: Clock;
  readonly #pods = new ByAddress<PodOfSessions>();
  /** All that are not closed. */
  readonly #sessions = new TurnoverSet<PodSession>();
  /** A socket that has a session never gets a second one. */
  readonly #ofSocket = new WeakMap<WireSocket, PodSession>();
  readonly #idle = new IdleShares<PodSession>();

  constructor(limits: IdleLimits, clock: Clock, sweep: Sweep, connections = connectionsMax) {
    useLeanBind();
    this.#limits = { ...limits, connections };
    this.#clock = clock;
    this.sweep = sweep;
  }

  /** The connection of a session that may take one more call; undefined: a new connection is needed. */
  socketFor(place: Place): WireSocket | undefined {
    return this.#portOf(place)?.withRoom()?.socket;
  }

  /**
   * Gives the session for a call on this connection, or on one that has room: then this one is closed. It is not idle from now on: if no
   * call begins on it, call its `unused`.
   *
   * If another connection to that port was opened, and the sandbox has not said yet how many calls it takes, or takes none now, `take` is
   * called when that is known or has changed. What is returned then ends the wait and closes this connection. `take` gets no session if the
   * sandbox still takes none, or if this connection was closed meanwhile and no other has room.
   */
  sessionFor(upstream: Upstream, take: (session?: PodSession) => void): Disposable | undefined {
    const { target, socket } = upstream;
    let waits: Disposable | undefined;
    let waited: "no" | "for settings" | "for room" = "no";
    const look = (): void => {
      waits = undefined;
      const known = this.#knownFor(upstream);
      if (known) return take(known);
      const takesNone = this.takesNone(target);
      if (takesNone) socket.destroy(); // another connection would take none either
      if (waited === "no" || (takesNone && waited !== "for room")) waits = this.whenSettled(target, look);
      waited = takesNone ? "for room" : "for settings";
      if (!waits) take(this.#newFor(upstream));
    };
    look();
    if (!waits) return undefined;
    return {
      [Symbol.dispose]: () => {
        waits?.[Symbol.dispose]();
        socket.destroy();
      },
    };
  }

  /** Whether a call has to wait: its sandbox takes none, or its Pod has as many connections as it may have, and none has room. */
  takesNone(place: Place): boolean {
    return this.#portOf(place)?.takesNone ?? this.#pods.get(place)?.isFull ?? false;
  }

  /**
   * Calls the listener once, in a turn of its own, when a sandbox has said how many calls its first connection takes, or that is closed.
   * While a call has to wait, when that has changed. In any case after a time. Undefined: there is no such connection, it takes some, or
   * too many others wait. Disposing ends the wait.
   */
  whenSettled(place: Place, listener: () => void): Disposable | undefined {
    const port = this.takesNone(place) ? this.#makePort(place) : this.#portOf(place);
    const waits = port?.whenSettled(listener);
    if (port && !waits) this.emptied(port);
    return waits;
  }

  /** The number of connections, idle or not. */
  get size(): number {
    return this.#sessions.size;
  }

  now(): ClockReading {
    return readClocks(this.#clock);
  }

  rested(session: PodSession, port: PortSessions): void {
    const nowMs = this.#clock.ticksMs();
    const { ofPod } = port;
    if (session.isInUse) port.end();
    session.isInUse = false;
    port.idle.join(session.inPort);
    ofPod.idle.join(session.inPod);
    const { perPort, perNamespace, total } = this.#limits;
    trim(port.idle, Math.min(perPort, port.idleMax(nowMs)));
    trim(ofPod.idle, ofPod.idleMax(nowMs));
    trim(ofPod.idle.namespace, perNamespace);
    trim(this.#idle, total);
  }

  closed(session: PodSession): void {
    this.#sessions.delete(session);
    this.sweep.remove(session);
  }

  emptied(port: PortSessions): void {
    if (!port.isEmpty) return;
    const { ofPod, place } = port;
    if (ofPod.ports.get(place.port) === port) ofPod.ports.delete(place.port);
    if (ofPod.ports.size === 0 && this.#pods.get(place) === ofPod) this.#pods.delete(place);
  }

  [Symbol.dispose](): void {
    for (const session of [...this.#sessions]) session.close();
  }

  #knownFor({ target, socket }: Upstream): PodSession | undefined {
    const own = this.#ofSocket.get(socket);
    const known = own ?? this.#portOf(target)?.withRoom();
    if (!known) return undefined;
    if (!own) socket.destroy(); // nothing was sent on it
    this.#use(known, this.#makePort(target));
    return known;
  }

  /** Undefined if the connection was closed meanwhile. */
  #newFor({ target, socket }: Upstream): PodSession | undefined {
    return socket.destroyed ? undefined : this.#open(socket, target);
  }

  #open(socket: WireSocket, place: Place): PodSession {
    const port = this.#makePort(place);
    const session = new PodSession(socket, port.place, port);
    this.#sessions.add(session);
    this.#ofSocket.set(socket, session);
    this.sweep.add(session);
    port.opened(session);
    this.#use(session, port);
    return session;
  }

  /** It is not idle from now on. */
  #use(session: PodSession, port: PortSessions): void {
    session.inPort.leave();
    session.inPod.leave();
    if (!session.isInUse) port.begin(this.#clock.ticksMs());
    session.isInUse = true;
  }

  #portOf(place: Place): PortSessions | undefined {
    return this.#pods.get(place)?.ports.get(place.port);
  }

  #makePort(place: Place): PortSessions {
    const pod = this.#pods.get(place) ?? new PodOfSessions(place.namespace, this.#idle, this.#limits);
    this.#pods.set(place, pod);
    const port = pod.ports.get(place.port) ?? new PortSessions(place, pod, this);
    pod.ports.set(place.port, port);
    return port;
  }
}

/** Idle connections that a limit is for, and which of them is closed beyond it. */
interface Kept {
  readonly size: number;
  readonly next: PodSession | undefined;
}

/** One was added, so one is closed at most. */
function trim(kept: Kept | undefined, max: number): void {
  if (kept && kept.size > max) kept.next?.close();
}
