import { SetsByKey } from "../../../lib/data/sets-by-key.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { Upstream } from "../../connect/connector.ts";
import type { IdleLimits } from "../../pod-connections/idle-limits.ts";
import { IdleList } from "../../pod-connections/idle-list.ts";
import { addressKey, type Place, placeOf } from "../../pod-connections/place.ts";
import type { WireSocket } from "../../socket/wire-socket.ts";
import type { Sweep } from "../../sweep.ts";
import { PodSession, type SessionOwner } from "./pod-session.ts";

/**
 * The connections of HTTP/2 to Pods, by place. Idle ones have the limits of those of HTTP/1.1: beyond one, the
 * connection that has been idle longest is closed.
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
  readonly #idle = new IdleList<PodSession>();
  readonly #idleOf = new Map<string, IdleList<PodSession>>();

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
   * The session for a call on this connection, or on one that became usable meanwhile: then this one is closed. It is not idle from now
   * on: if no call begins on it, call its `unused`.
   */
  sessionFor({ target, socket }: Upstream): PodSession {
    const own = this.#ofSocket.get(socket);
    const shared = own ?? this.#withRoom(target);
    if (!shared) return this.#open(socket, target);
    if (!own) socket.destroy(); // nothing was sent on it
    shared.inAll.leave();
    this.#leaveNamespace(shared);
    return shared;
  }

  /** The number of connections, idle or not. */
  get size(): number {
    return this.#sessions.size;
  }

  nowMs(): number {
    return this.#clock.ticksMs();
  }

  rested(session: PodSession): void {
    const { namespace } = session.place;
    const ofNamespace = this.#idleOf.get(namespace) ?? new IdleList<PodSession>();
    this.#idleOf.set(namespace, ofNamespace);
    ofNamespace.join(session.inNamespace);
    this.#idle.join(session.inAll);
    const { perPort, perNamespace, total } = this.#limits;
    if (perPort <= 0) session.close();
    if (ofNamespace.size > perNamespace) ofNamespace.oldest?.value.close();
    if (this.#idle.size > total) this.#idle.oldest?.value.close();
  }

  left(session: PodSession): void {
    this.#sessions.get(session)?.[Symbol.dispose]();
    if (this.#sessions.has(session)) this.#sessions.set(session, undefined);
    session.inAll.leave();
    this.#leaveNamespace(session);
  }

  closed(session: PodSession): void {
    this.left(session);
    this.#sessions.delete(session);
    this.#sweep.remove(session);
  }

  [Symbol.dispose](): void {
    for (const session of [...this.#sessions.keys()]) session.close();
  }

  #withRoom(place: Place): PodSession | undefined {
    for (const session of this.#byPort.of(keyOf(place))) if (session.hasRoom) return session;
    return undefined;
  }

  #open(socket: WireSocket, place: Place): PodSession {
    const session = new PodSession(socket, placeOf(place), this);
    this.#sessions.set(session, this.#byPort.add(keyOf(session.place), session));
    this.#ofSocket.set(socket, session);
    this.#sweep.add(session);
    return session;
  }

  #leaveNamespace({ inNamespace, place: { namespace } }: PodSession): void {
    inNamespace.leave();
    if (this.#idleOf.get(namespace)?.size === 0) this.#idleOf.delete(namespace);
  }
}

const keyOf = (place: Place) => `${addressKey(place)} ${place.port}`;
