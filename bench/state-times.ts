import type { KubeObject, Stored } from "../api/kinds/meta.ts";
import type { ResourceType } from "../api/kinds/resource-type.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { ApiError } from "../kube/client/errors.ts";
import { systemClock } from "../lib/time/clock.ts";

/** The times, by this process's monotonic clock, at which each object of a namespace was first seen in each state. */
export interface StateTimes<State extends string> extends AsyncDisposable {
  at(state: State, name: string): number | undefined;
  /** Resolves once `count` objects have been seen in the state; rejects after `limitMs` milliseconds. */
  untilReached(state: State, count: number, limitMs?: number): Promise<void>;
}

const longestMs = 300_000;
const retryPauseMs = 500;

/** Watches a kind in a namespace from now on, and records when each object is first in each of the `states`. */
export async function recordStates<T extends KubeObject, State extends string>(
  client: KubeClient,
  type: ResourceType<T>,
  namespace: string,
  states: Readonly<Record<State, (object: Stored<T>) => boolean>>,
): Promise<StateTimes<State>> {
  const { metadata } = await client.list(type, { namespace });
  const names = Object.keys(states) as State[];
  const seen = new Map<State, Map<string, number>>(names.map((state) => [state, new Map()]));
  const of = (state: State) => seen.get(state) ?? new Map<string, number>();
  let wake = () => {};
  const stop = new AbortController();

  const note = (object: Stored<T>) => {
    const nowMs = systemClock.ticksMs();
    for (const state of names) {
      if (!of(state).has(object.metadata.name) && states[state](object)) of(state).set(object.metadata.name, nowMs);
    }
    wake();
  };
  const following = (async () => {
    let resourceVersion = metadata.resourceVersion ?? "0";
    // A busy API server ends watches, and clients continue them.
    while (!stop.signal.aborted) {
      try {
        for await (const event of client.watch(type, { namespace, resourceVersion }, stop.signal)) {
          if (event.type === "ERROR") throw new Error(`the watch of ${type.plural} failed: ${event.object.message}`);
          resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
          if (event.type === "ADDED" || event.type === "MODIFIED") note(event.object);
        }
      } catch (error) {
        // The API server answers 429 while the definition of a kind is being changed.
        if (!(error instanceof ApiError && error.code === 429)) throw error;
        await systemClock.sleep(retryPauseMs, stop.signal);
      }
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  following.catch(() => {}); // `untilReached` rejects with this error

  return {
    at: (state, name) => of(state).get(name),
    async untilReached(state, count, limitMs = longestMs) {
      const changed = () =>
        new Promise<void>((resolve) => {
          wake = resolve;
        });
      const endMs = systemClock.ticksMs() + limitMs;
      while (of(state).size < count) {
        if (systemClock.ticksMs() > endMs) throw new Error(`${of(state).size} of ${count} ${type.plural} are ${state}`);
        await Promise.race([changed(), systemClock.sleep(1_000), following]);
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.allSettled([following]);
    },
  };
}
