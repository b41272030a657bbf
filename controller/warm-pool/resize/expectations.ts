import { isLaterVersion } from "../../../api/kinds/meta.ts";
import type { Informer, Written } from "../../../kube/informer/informer.ts";
import type { Clock } from "../../../lib/time/clock.ts";

interface Expected {
  pendingCreations: number;
  readonly pendingDeletions: Set<string>;
  /** Monotonic time of the last raise. */
  raisedMs: number;
  /** The latest of the writes. The raise counts as one: what comes after it has at least been asked for. */
  written: Written;
}

/** The expectations of an owner at the time its store was read. */
export interface ExpectationsSnapshot {
  readonly owner: string;
  /** The store showed everything that had been asked for. */
  readonly satisfied: boolean;
  readonly pendingCreations: number;
  /** How often creations had been expected until then. */
  readonly raises: number;
}

/**
 * An event that has not come in this long never will, if the store has come further meanwhile: the object came and went between two
 * lists. A store that stands still says nothing, however long that takes.
 */
const expectationLimitMs = 5 * 60_000;

/**
 * What an owner has asked for and its store does not show yet. A store lags behind by any amount of time, and to count
 * children in it while something is expected would be to make or delete them twice.
 *
 * Creations are counted, for the server names the children; deletions are known by UID. In memory only: before a new process makes or
 * deletes anything it compares its store with a list (`FirstLook`).
 */
export class Expectations {
  readonly #clock: Clock;
  /** Of the children. */
  readonly store: Pick<Informer<never>, "hasSeen">;
  readonly #records = new Map<string, Expected>();
  readonly #raises = new Map<string, number>();

  constructor(clock: Clock, store: Pick<Informer<never>, "hasSeen">) {
    this.#clock = clock;
    this.store = store;
  }

  /** Must be called in the same synchronous step in which the store is read. */
  snapshot(owner: string): ExpectationsSnapshot {
    const record = this.#current(owner);
    return {
      owner,
      satisfied: record === undefined,
      pendingCreations: record?.pendingCreations ?? 0,
      raises: this.#raises.get(owner) ?? 0,
    };
  }

  /**
   * Whether a count at that snapshot is still complete. It is not enough that the store shows all writes by now: a child
   * that it did not show then was not counted, nor were later writes by another pass.
   */
  holds({ owner, satisfied, raises }: ExpectationsSnapshot): boolean {
    return satisfied && this.#current(owner) === undefined && (this.#raises.get(owner) ?? 0) === raises;
  }

  /** Takes the right to create so many children, all in one step; false if the snapshot is outdated. */
  tryExpectCreations(snapshot: ExpectationsSnapshot, count: number): boolean {
    if (count <= 0 || !this.holds(snapshot)) return false;
    const { owner } = snapshot;
    this.#raises.set(owner, snapshot.raises + 1);
    this.#records.set(owner, { ...this.#newRecord(), pendingCreations: count });
    return true;
  }

  /** So many children have been seen, or will not come. */
  lowerCreations(owner: string, count = 1): void {
    const record = this.#current(owner);
    if (!record) return;
    record.pendingCreations = Math.max(0, record.pendingCreations - count);
    this.#dropIfEmpty(owner, record);
  }

  /** Must be called before the delete call, whose event may come before its response. */
  expectDeletion(owner: string, uid: string): void {
    if (uid === "") return;
    const record = this.#current(owner) ?? this.#newRecord();
    record.pendingDeletions.add(uid);
    record.raisedMs = this.#clock.ticksMs();
    this.#records.set(owner, record);
    this.written(owner);
  }

  /** A write that was expected has been answered; `version`: of the child that it made. */
  written(owner: string, version?: string): void {
    const record = this.#records.get(owner);
    if (!record) return;
    const known = record.written.version;
    const isLatest = known === undefined || (version !== undefined && !isLaterVersion(known, version));
    record.written = { atMs: this.#clock.ticksMs(), version: isLatest ? version : known };
  }

  /** The store shows the deletion, or there was none. */
  deletionObserved(owner: string, uid: string): void {
    const record = this.#current(owner);
    if (record?.pendingDeletions.delete(uid)) this.#dropIfEmpty(owner, record);
  }

  isPendingDeletion(owner: string, uid: string): boolean {
    return this.#current(owner)?.pendingDeletions.has(uid) ?? false;
  }

  forget(owner: string): void {
    this.#records.delete(owner);
    this.#raises.delete(owner);
  }

  #newRecord(): Expected {
    const nowMs = this.#clock.ticksMs();
    const written = { atMs: nowMs, version: undefined };
    return { pendingCreations: 0, pendingDeletions: new Set(), raisedMs: nowMs, written };
  }

  /** The record, unless its time is over, and the store has come as far as its writes. */
  #current(owner: string): Expected | undefined {
    const record = this.#records.get(owner);
    if (!record) return undefined;
    const isLate = this.#clock.ticksMs() - record.raisedMs >= expectationLimitMs;
    if (isLate && this.store.hasSeen(record.written)) {
      this.#records.delete(owner);
      return undefined;
    }
    return record;
  }

  #dropIfEmpty(owner: string, { pendingCreations, pendingDeletions }: Expected): void {
    if (pendingCreations === 0 && pendingDeletions.size === 0) this.#records.delete(owner);
  }
}
