import { SmallMap } from "../../lib/data/small-map.ts";
import { IdleList } from "./idle-list.ts";
import { IdleOfPod, type IdleShares } from "./idle-shares.ts";
import { type Place, placeOf } from "./place.ts";
import { RecentPeak } from "./recent-peak.ts";

/**
 * While requests to a port are in progress, one of its connections is closed in this time, in milliseconds. A server that serves
 * one connection at a time reads an idle one, or one that other requests use again and again, and accepts no other.
 */
const makesRoomMs = 1_000;

/** As many are kept for a port without need, so that a pause between requests costs no new connections. */
export const restingMax = 20;

/** Connections that are idle, and how many were in use at the same time. */
abstract class Shelf<T> {
  abstract readonly idle: IdleList<T>;
  readonly used = new RecentPeak();
  readonly #restingMax: number;

  constructor(restingMax: number) {
    this.#restingMax = restingMax;
  }

  /**
   * How many idle connections it may keep: with those in use, as many as it had requests at the same time in the last seconds,
   * but at least as many as may rest.
   */
  idleMax(nowMs: number): number {
    return Math.max(this.#restingMax, this.used.at(nowMs)) - this.used.current;
  }
}

/** The connections to one address of a Pod. */
export class PodShelf<T, P extends PortShelf<T> = PortShelf<T>> extends Shelf<T> {
  /** Whether the Pod has lost the address: no connection is kept. */
  isLost = false;
  readonly ports = new SmallMap<number, P>();
  readonly idle: IdleOfPod<T>;

  constructor(namespace: string, shares: IdleShares<T>, restingMax: number) {
    super(restingMax);
    this.idle = new IdleOfPod(namespace, shares);
  }
}

/** The connections to one port of a Pod. */
export class PortShelf<T> extends Shelf<T> {
  readonly place: Place;
  readonly pod: Pick<PodShelf<T>, "idle" | "idleMax" | "isLost" | "used">;
  readonly idle = new IdleList<T>();
  /** Those of `idle` whose server stated its timeout. The others serve only safe methods. */
  readonly said = new IdleList<T>();
  /** When the next connection is closed, if a request is in progress until then. Monotonic milliseconds. */
  #roomDueMs = 0;

  constructor(place: Place, pod: PortShelf<T>["pod"]) {
    super(restingMax);
    this.place = placeOf(place);
    this.pod = pod;
  }

  begin(nowMs: number): void {
    if (this.used.current === 0) this.#roomDueMs = nowMs + makesRoomMs;
    this.used.begin(nowMs);
    this.pod.used.begin(nowMs);
  }

  end(): void {
    this.used.end();
    this.pod.used.end();
  }

  /** Whether a connection without a request has to be closed now, for a request that the server may not have accepted. */
  makesRoom(nowMs: number): boolean {
    if (this.used.current === 0 || nowMs < this.#roomDueMs) return false;
    this.#roomDueMs = nowMs + makesRoomMs;
    return true;
  }
}
