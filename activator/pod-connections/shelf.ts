import type { Target } from "../sandbox/resolve.ts";
import { IdleList } from "./idle-list.ts";
import { RecentPeak } from "./recent-peak.ts";

export type Place = Pick<Target, "namespace" | "podUid" | "port">;

/** As many are kept for a port without need, so that a pause between requests costs no new connections. */
export const restingMax = 20;

/** Connections that are idle, and how many were in use at the same time. */
class Shelf<T> {
  readonly idle = new IdleList<T>();
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

/** The connections to one Pod. */
export class PodShelf<T> extends Shelf<T> {
  readonly ports = new Map<number, PortShelf<T>>();
}

/** The connections to one port of a Pod. */
export class PortShelf<T> extends Shelf<T> {
  readonly place: Place;
  readonly pod: PodShelf<T>;
  /** Those of `idle` whose server stated its timeout. The others serve only safe methods. */
  readonly said = new IdleList<T>();

  constructor({ namespace, podUid, port }: Place, pod: PodShelf<T>) {
    super(restingMax);
    this.place = { namespace, podUid, port };
    this.pod = pod;
  }

  begin(nowMs: number): void {
    this.used.begin(nowMs);
    this.pod.used.begin(nowMs);
  }

  end(): void {
    this.used.end();
    this.pod.used.end();
  }
}
