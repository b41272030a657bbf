import { ageMs, type ClockReading } from "../../lib/time/clock-jumps.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import type { Watched } from "../sweep.ts";
import { Link } from "./idle-list.ts";
import type { Place } from "./place.ts";
import type { PortShelf } from "./shelf.ts";

/** The pool that a connection belongs to. */
interface Owner {
  /** It was taken, or its time has passed. */
  leave(entry: Idle): void;
  /** Closes one that is not needed any more, if any. */
  giveBack(shelf: PortShelf<Idle>, max: number): void;
}

/** A connection that a request may use, or that one uses. */
export class Idle implements Watched {
  sweepIndex = -1;
  /** It stays in the sweep while in use, until the next check: most are idle again by then. */
  isIdle = true;
  readonly socket: WireSocket;
  readonly place: Place;
  readonly inPort = new Link<Idle>(this);
  readonly inSaid = new Link<Idle>(this);
  readonly inPod = new Link<Idle>(this);
  /** Set while idle. */
  shelf: PortShelf<Idle> | undefined;
  /** Whether the server stated its timeout. Otherwise only safe methods are sent. */
  isSaid = false;
  /** Whether its last request had a body. */
  hadBody = false;
  readonly #owner: Owner;
  /** Of its own: a reading that each of a thousand connections keeps would outlive every small collection of garbage. */
  readonly #restedAt = { wallMs: 0, ticksMs: 0 };
  #lifeMs = 0;

  constructor(socket: WireSocket, place: Place, owner: Owner) {
    this.socket = socket;
    this.place = place;
    this.#owner = owner;
  }

  rest(now: ClockReading, lifeMs: number, said: boolean): void {
    this.isIdle = true;
    this.#restedAt.wallMs = now.wallMs;
    this.#restedAt.ticksMs = now.ticksMs;
    this.#lifeMs = lifeMs;
    this.isSaid = said;
  }

  /** It is no longer idle, and counts in no limit. */
  use(): void {
    this.isIdle = false;
    this.inPort.leave();
    if (this.isSaid) this.inSaid.leave();
    this.inPod.leave();
  }

  isGood(now: ClockReading): boolean {
    return isUsable(this.socket) && ageMs(this.#restedAt, now) < this.#lifeMs;
  }

  #isOver(nowMs: number): boolean {
    return !isUsable(this.socket) || nowMs - this.#restedAt.ticksMs >= this.#lifeMs;
  }

  check(nowMs: number): void {
    if (!this.isIdle || this.#isOver(nowMs) || this.shelf?.makesRoom(nowMs)) this.#owner.leave(this);
    else if (this.shelf) this.#owner.giveBack(this.shelf, this.shelf.idleMax(nowMs));
  }
}

/** An end that is still being checked for a reset counts. */
export const isUsable = (socket: WireSocket) =>
  !socket.destroyed && socket.writable && !socket.readableEnded && !socket.isEndChecked;
