import { SetsByKey } from "../../../lib/data/sets-by-key.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { type ClockReading, readClocks } from "../../../lib/time/clock-jumps.ts";
import type { Upstream } from "../../connect/connector.ts";
import type { IdleLimits } from "../../pod-connections/idle-limits.ts";
import { IdleOfPod, IdleShares } from "../../pod-connections/idle-shares.ts";
import { addressKey, type Place, placeOf } from "../../pod-connections/place.ts";
import type { WireSocket } from "../../socket/wire-socket.ts";
import type { Sweep } from "../../sweep.ts";
import { PodSession, type SessionOwner } from "./pod-session.ts";

/**
 * The connections of HTTP/2 to Pods, by place. Idle ones have the limits of those of HTTP/1.1: beyond one, a
 * Pod that has most of them loses the one that has been idle longest.
 */
export class PodSessions implements SessionOwner, Disposable {
  readonly #limits: IdleLimits;
  readonly #clock: Clock;
  readonly #sweep: Sweep;
  readonly #byPort = new SetsByKey<PodSession>();
  /** All that are not closed. Undefined: it takes no further call. */
  readonly #sessions = new Map<PodSession, Disposable | undefined>();
  /** A socket that has a session never gets a second one. */
  readonly #ofSocket = new WeakMap<WireSocket, PodSession>();
  readonly #idle = new IdleShares<PodSession>();
  readonly #idleOf = new Map<string, IdleOfPod<PodSession>>();

  constructor(limits: IdleLimits, clock: Clock, sweep: Sweep) {
    this.#limits = limits;
    this.#clock = clock;
    this.#sweep = sweep;
  }

  /** The connection of a session that may take one more call; undefined: a new connection is needed. */
  socketFor(place: Place): WireSocket | undefined {
    return this.#withRoom(place)?.socket;
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

  /** Whether the sandbox has said that it takes no call at all. Each connection that it gets may cost it as much as a call. */
  takesNone(place: Place): boolean {
    const sessions = [...this.#byPort.of(keyOf(place))];
    return sessions.some(({ room }) => room === 0) && !sessions.some(({ room = 0 }) => room > 0);
  }

  /**
   * Calls the listener once when a sandbox has said how many calls its first connection takes. If it takes none, when that has changed, or
   * after a time. Undefined: there is no such connection, or too many others wait.
   */
  whenSettled(place: Place, listener: () => void): Disposable | undefined {
    const sessions = [...this.#byPort.of(keyOf(place))];
    if (sessions.some(({ room = 0 }) => room > 0)) return undefined;
    for (const session of sessions) {
      const waits = session.whenSettled(listener);
      if (waits) return waits;
    }
    return undefined;
  }

  /** The number of connections, idle or not. */
  get size(): number {
    return this.#sessions.size;
  }

  now(): ClockReading {
    return readClocks(this.#clock);
  }

  rested(session: PodSession): void {
    const { place } = session;
    const key = addressKey(place);
    const ofPod = this.#idleOf.get(key) ?? new IdleOfPod(place.namespace, this.#idle);
    this.#idleOf.set(key, ofPod);
    ofPod.join(session.inPod);
    const { perPort, perNamespace, total } = this.#limits;
    if (perPort <= 0) session.close();
    const { namespace } = ofPod;
    if (namespace && namespace.size > perNamespace) namespace.next?.close();
    if (this.#idle.size > total) this.#idle.next?.close();
  }

  left(session: PodSession): void {
    this.#sessions.get(session)?.[Symbol.dispose]();
    if (this.#sessions.has(session)) this.#sessions.set(session, undefined);
    this.#leavePod(session);
  }

  closed(session: PodSession): void {
    this.left(session);
    this.#sessions.delete(session);
    this.#sweep.remove(session);
  }

  [Symbol.dispose](): void {
    for (const session of [...this.#sessions.keys()]) session.close();
  }

  #knownFor({ target, socket }: Upstream): PodSession | undefined {
    const own = this.#ofSocket.get(socket);
    const known = own ?? this.#withRoom(target);
    if (!known) return undefined;
    if (!own) socket.destroy(); // nothing was sent on it
    this.#leavePod(known);
    return known;
  }

  /** Undefined if the connection was closed meanwhile. */
  #newFor({ target, socket }: Upstream): PodSession | undefined {
    return socket.destroyed ? undefined : this.#open(socket, target);
  }

  /** What one connection takes, the others to the same port are expected to take. */
  #withRoom(place: Place): PodSession | undefined {
    const now = this.now();
    const sessions = [...this.#byPort.of(keyOf(place))];
    const expected = sessions.find(({ room }) => room !== undefined)?.room;
    for (const session of sessions) {
      if (session.isStale(now)) session.close();
      else if (session.hasRoom(expected)) return session;
    }
    return undefined;
  }

  #open(socket: WireSocket, place: Place): PodSession {
    const session = new PodSession(socket, placeOf(place), this);
    this.#sessions.set(session, this.#byPort.add(keyOf(session.place), session));
    this.#ofSocket.set(socket, session);
    this.#sweep.add(session);
    return session;
  }

  #leavePod({ inPod, place }: PodSession): void {
    inPod.leave();
    const key = addressKey(place);
    if (this.#idleOf.get(key)?.size === 0) this.#idleOf.delete(key);
  }
}

const keyOf = (place: Place) => `${addressKey(place)} ${place.port}`;
