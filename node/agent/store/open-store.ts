import { randomUUID } from "node:crypto";
import type { Logger } from "../../../lib/log/log.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { isUid } from "./records.ts";
import { ForeignStore, type StoreFile, type StoreIdentity, standsFor } from "./store-file.ts";
import type { TrialWrite } from "./trial-write.ts";

export interface OpenStoreParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: StoreFile;
  /** The stores that the API names for memory on this node. */
  readonly named: () => readonly string[];
}

/** More stores than a node has had. Who may write the status of MemoryImages can name any number of them. */
const mostNamed = 32;
/** What a store keeps of those that it stands for: the last ones. */
const mostReplaced = 256;
/** A disk that is mounted late is looked for so often. */
const lookMs = 1_000;
/** A disk that has not come by then is not waited for: a node may be made anew under its name. */
export const storeWaitMs = 600_000;
/** Nothing else changes the identity of a store that is there. */
const checkMs = 5_000;
/** A store that cannot be read for a minute counts as one that is gone. */
const unreadableMax = 12;
/** A disk that hangs gives no error. A disk that is only slow answers by then. */
const silentAfterMs = 30_000;

/** Whether the store answers: a disk may also keep who asks for ever. */
export class StoreAnswers {
  readonly #clock: Pick<Clock, "ticksMs">;
  #askedMs: number | undefined;

  constructor(clock: Pick<Clock, "ticksMs">) {
    this.#clock = clock;
  }

  /** One look at a time. */
  async to<T>(look: () => Promise<T>): Promise<T> {
    this.#askedMs = this.#clock.ticksMs();
    try {
      return await look();
    } finally {
      this.#askedMs = undefined;
    }
  }

  isSilent(): boolean {
    return this.#askedMs !== undefined && this.#clock.ticksMs() - this.#askedMs >= silentAfterMs;
  }
}

export interface WatchStoreParts extends Pick<OpenStoreParts, "clock" | "log" | "store"> {
  readonly answers: StoreAnswers;
  readonly trial: Pick<TrialWrite, "result">;
}

/**
 * Waits until the store is the one that has the memory which the API knows of, and returns its identity. A new store gets one. What a
 * store that does not come had counts as lost from then on, also if it comes later.
 */
export async function openStore(
  { clock, log, store, named }: OpenStoreParts,
  signal: AbortSignal,
): Promise<StoreIdentity> {
  const untilMs = clock.ticksMs() + storeWaitMs;
  for (let looks = 0; ; looks += 1) {
    const found = await store.read();
    const all = [...new Set(named())].filter((id) => isUid(id) && !(found && standsFor(found, id)));
    const missing = all.sort().slice(0, mostNamed);
    if (found && missing.length === 0) return found;
    if (missing.length === 0 || clock.ticksMs() >= untilMs) {
      const replaces = [...(found?.replaces ?? []), ...missing].slice(-mostReplaced);
      const identity = { id: found?.id ?? randomUUID(), replaces };
      await store.write(identity);
      if (missing.length > 0)
        log.error({ missing }, "a store of this node did not come back; its memory counts as lost");
      return identity;
    }
    if (looks === 0) {
      log.warn({ missing, found: found?.id }, "the store of this node is not there yet; waiting for its disk");
    }
    await clock.sleep(lookMs, signal);
  }
}

/**
 * Rejects when the store is another one than before: what was read of it is worth nothing then. A moment without file descriptors is
 * not that, and must not end the captures in progress.
 */
export async function watchStore(
  { answers, clock, log, store, trial }: WatchStoreParts,
  identity: StoreIdentity,
  signal: AbortSignal,
): Promise<never> {
  const look = async () => {
    await store.check(identity);
    await trial.result().catch(() => {}); // what it says is asked for before each capture
  };
  for (let failures = 0; ; ) {
    await clock.sleep(checkMs, signal);
    using _silence = clock.after(silentAfterMs, () => {
      log.error("the store of this node does not answer; the agent is not ready until it does");
    });
    try {
      await answers.to(look);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (error instanceof ForeignStore || failures >= unreadableMax) throw error;
      log.warn({ err: error }, "cannot read which store this is; retrying in 5 seconds");
    }
  }
}
