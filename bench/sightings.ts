import type { KubeObject, Stored } from "../api/kinds/meta.ts";
import type { ResourceType } from "../api/kinds/resource-type.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { ApiError } from "../kube/client/errors.ts";
import { systemClock } from "../lib/time/clock.ts";

/** When, on this process's monotonic clock, each object of a namespace was first seen in each state. */
export interface Sightings<State extends string> extends AsyncDisposable {
  at(state: State, name: string): number | undefined;
  /** Resolves once so many have been seen in the state; rejects after `limitMs` milliseconds. */
  untilSeen(state: State, count: number, limitMs?: number): Promise<void>;
}

const longestMs = 300_000;
const busyPauseMs = 500;

/** Watches a kind in a namespace from now on. The states are told by what the object says, each at most once. */
export async function watchFor<T extends KubeObject, State extends string>(
  client: KubeClient,
  type: ResourceType<T>,
  namespace: string,
  states: Readonly<Record<State, (object: Stored<T>) => boolean>>,
): Promise<Sightings<State>> {
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
    // A server that is short of time ends watches, and expects to be asked for the rest.
    while (!stop.signal.aborted) {
      try {
        for await (const event of client.watch(type, { namespace, resourceVersion }, stop.signal)) {
          if (event.type === "ERROR") throw new Error(`the watch of ${type.plural} says ${event.object.message}`);
          resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
          if (event.type === "ADDED" || event.type === "MODIFIED") note(event.object);
        }
      } catch (error) {
        // So it answers while the definition of a kind has just been changed.
        if (!(error instanceof ApiError && error.code === 429)) throw error;
        await systemClock.sleep(busyPauseMs, stop.signal);
      }
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  following.catch(() => {}); // whoever waits is told

  return {
    at: (state, name) => of(state).get(name),
    async untilSeen(state, count, limitMs = longestMs) {
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
