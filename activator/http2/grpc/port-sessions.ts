import { runGuarded } from "../../../lib/guard/guard.ts";
import type { ClockReading } from "../../../lib/time/clock-jumps.ts";
import type { IdleShares } from "../../pod-connections/idle-shares.ts";
import type { Place } from "../../pod-connections/place.ts";
import { PodShelf, PortShelf } from "../../pod-connections/shelf.ts";
import type { Sweep, Watched } from "../../sweep.ts";
import { type PodSession, type SessionOwner, settingsMs } from "./pod-session.ts";
import { WaitingCalls } from "./waiting-calls.ts";

/** The maximum number of calls that wait for the settings of one connection. More get another connection. */
const waitingMax = 100;
/** The maximum number of connections to one address of a Pod, on all its ports. Further calls wait until one has room. */
export const connectionsMax = 1_000;
/** How many waiting calls are told in one turn of the event loop. */
const toldInOneTurn = 32;

/** How many connections one address of a Pod may have at rest, and at all. */
export interface PodLimits {
  readonly perPod: number;
  readonly connections: number;
}

/** The connections to one address of a Pod. */
export class PodOfSessions extends PodShelf<PodSession, PortSessions> {
  /** The number of connections that are not closed. */
  open = 0;
  readonly #connectionsMax: number;
  /** Ports with calls that wait for room. */
  readonly #waiting = new Set<PortSessions>();

  constructor(namespace: string, idle: IdleShares<PodSession>, { perPod, connections }: PodLimits) {
    super(namespace, idle, perPod);
    this.#connectionsMax = connections;
  }

  get isFull(): boolean {
    return this.open >= this.#connectionsMax;
  }

  waits(port: PortSessions, isWaiting: boolean): void {
    if (isWaiting) this.#waiting.add(port);
    else this.#waiting.delete(port);
  }

  /** A connection is closed, so there is room for one. The ports have it in turn. */
  closed(): void {
    this.open -= 1;
    for (const port of this.#waiting) {
      this.#waiting.delete(port);
      this.#waiting.add(port);
      return port.tellWaiting();
    }
  }
}

/** What the connections of all ports share. */
export interface PortHost {
  readonly sweep: Sweep;
  now(): ClockReading;
  /** A connection has become idle. */
  rested(session: PodSession, port: PortSessions): void;
  closed(session: PodSession): void;
  /** It may have no connection and no waiting call any more. */
  emptied(port: PortSessions): void;
}

/**
 * The connections to one port of a Pod, by what they take, and the calls that wait for one of them. A call looks at no connection that
 * has no room. Of those that wait, as many are told as there is room for, however often the sandbox sends its settings.
 */
export class PortSessions extends PortShelf<PodSession> implements SessionOwner, Watched {
  sweepIndex = -1;
  readonly ofPod: PodOfSessions;
  readonly #host: PortHost;
  /** Those that take calls and whose sandbox has not said how many. */
  readonly #unsettled = new Set<PodSession>();
  /** Those of them that may have room. */
  #unsettledWithRoom = new Set<PodSession>();
  /** Those whose sandbox takes calls, and those of them that have room. */
  readonly #taking = new Set<PodSession>();
  readonly #withRoom = new Set<PodSession>();
  /** Those whose sandbox has said that it takes none. */
  readonly #refusing = new Set<PodSession>();
  /** How many calls a connection takes whose sandbox has told it last. */
  #expected = 1;
  #hasRisen = false;
  readonly #forSettings = new WaitingCalls();
  readonly #forRoom = new WaitingCalls();
  /** So many are about to be told, if they may be then. */
  #telling = 0;
  #open = 0;

  constructor(place: Place, pod: PodOfSessions, host: PortHost) {
    super(place, pod);
    this.ofPod = pod;
    this.#host = host;
  }

  get isEmpty(): boolean {
    return this.#open + this.#forSettings.size + this.#forRoom.size === 0;
  }

  now(): ClockReading {
    return this.#host.now();
  }

  /** What one connection takes, the others are expected to take. */
  withRoom(): PodSession | undefined {
    const now = this.now();
    if (this.#hasRisen) this.#unsettledWithRoom = new Set(this.#unsettled);
    this.#hasRisen = false;
    return firstWithRoom(this.#withRoom, now, 1) ?? firstWithRoom(this.#unsettledWithRoom, now, this.#expectedNow);
  }

  get #expectedNow(): number {
    return this.#taking.size + this.#refusing.size > 0 ? this.#expected : 1;
  }

  /**
   * Whether a call has to wait: the sandbox has said that it takes none, and each connection may cost it as much as a call; or the Pod has
   * as many connections as it may have, and none to this port has room.
   */
  get takesNone(): boolean {
    if (this.#refusing.size > 0 && this.#taking.size === 0) return true;
    return this.ofPod.isFull && this.withRoom() === undefined;
  }

  /** See `PodSessions.whenSettled`. */
  whenSettled(listener: () => void): Disposable | undefined {
    const calls = this.#waitingFor;
    if (!calls) return undefined;
    const { ticksMs } = this.now();
    const wait = calls.add({ listener, untilMs: ticksMs + settingsMs });
    this.#host.sweep.add(this);
    this.#watchWaiting();
    return {
      [Symbol.dispose]: () => {
        wait[Symbol.dispose]();
        this.#watchWaiting();
      },
    };
  }

  get #waitingFor(): WaitingCalls | undefined {
    if (this.takesNone) return this.#forRoom;
    const isSettled = this.#taking.size > 0 || this.#unsettled.size === 0;
    return isSettled || this.#forSettings.size >= waitingMax * this.#unsettled.size ? undefined : this.#forSettings;
  }

  check(): void {
    this.tellWaiting(); // the time of some may be over
  }

  /** Something has changed that one of those that wait may wait for. If it does, more are told. */
  tellWaiting(): void {
    if (this.#telling === 0) this.#tell(1);
  }

  /** Each in a turn of its own, so that it sees what the ones before it have begun. */
  #tell(more: number): void {
    const most = Math.min(this.#forSettings.size + this.#forRoom.size, toldInOneTurn, this.#telling + more);
    for (; this.#telling < most; this.#telling += 1) setImmediate(() => this.#tellOne());
  }

  #tellOne(): void {
    this.#telling -= 1;
    const told = this.#takeNext();
    if (!told) return;
    this.#watchWaiting();
    runGuarded("pod-connection", told);
    this.#tell(2);
  }

  /** A waiting call that need not wait any longer, or whose time is over. It waits no more. */
  #takeNext(): (() => void) | undefined {
    const { ticksMs } = this.now();
    const isSettled = this.#taking.size + this.#refusing.size > 0 || this.#unsettled.size === 0;
    const settled = this.#forSettings.take(isSettled ? undefined : ticksMs);
    return settled ?? this.#forRoom.take(this.takesNone ? ticksMs : undefined);
  }

  /** Whether calls wait for this connection to take some. */
  isAwaited(session: PodSession): boolean {
    return this.#forRoom.size > 0 && this.#refusing.has(session);
  }

  opened(session: PodSession): void {
    this.#open += 1;
    this.ofPod.open += 1;
    this.changed(session);
  }

  /** Its number of calls has changed, or what its sandbox has said of it. */
  changed(session: PodSession): void {
    const { room, isLeaving } = session;
    if (isLeaving) return;
    const takes = room !== undefined && room > 0;
    setIn(this.#unsettled, session, room === undefined);
    setIn(this.#unsettledWithRoom, session, room === undefined);
    setIn(this.#taking, session, takes);
    setIn(this.#withRoom, session, takes && session.hasRoom());
    setIn(this.#refusing, session, room === 0);
    if (room !== undefined) {
      this.#hasRisen ||= room > this.#expected;
      this.#expected = room;
    }
    this.tellWaiting();
  }

  rested(session: PodSession): void {
    this.#host.rested(session, this);
  }

  resting(nowMs: number): void {
    for (const kept of [this, this.ofPod]) if (kept.idle.size > kept.idleMax(nowMs)) kept.idle.next?.close();
  }

  left(session: PodSession): void {
    for (const set of [this.#unsettled, this.#unsettledWithRoom, this.#taking, this.#withRoom, this.#refusing])
      set.delete(session);
    session.inPort.leave();
    session.inPod.leave();
    this.tellWaiting();
  }

  closed(session: PodSession): void {
    this.left(session);
    if (session.isInUse) this.end();
    session.isInUse = false;
    this.#open -= 1;
    this.#host.closed(session);
    this.ofPod.closed();
    this.#host.emptied(this);
  }

  #watchWaiting(): void {
    this.ofPod.waits(this, this.#forRoom.size > 0);
    if (this.#forSettings.size + this.#forRoom.size > 0) return;
    this.#host.sweep.remove(this);
    this.#host.emptied(this);
  }
}

function setIn<T>(set: Set<T>, value: T, isIn: boolean): void {
  if (isIn) set.add(value);
  else set.delete(value);
}

/** What has no room is looked at once, until it changes. */
function firstWithRoom(sessions: Set<PodSession>, now: ClockReading, expected: number): PodSession | undefined {
  for (const session of sessions) {
    if (session.isStale(now)) session.close();
    else if (session.hasRoom(expected)) return session;
    sessions.delete(session);
  }
  return undefined;
}
