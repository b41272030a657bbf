import {
  type EndpointSlice,
  endpointSliceType,
  tcpFrontOf,
  tcpFrontSelector,
} from "../../api/between-programs/tcp-front.ts";
import { keyOf, type Stored } from "../../api/kinds/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError, isNotFound } from "../../kube/client/errors.ts";
import { listEverything } from "../../kube/client/list-everything.ts";
import type { Logger } from "../../lib/log/log.ts";
import { aborted, type Running, startTask } from "../../lib/process/lifecycle.ts";
import type { Backoff } from "../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../lib/queues/repeat-until-done.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { decide } from "./decide.ts";
import type { ObservedFront } from "./observed-front.ts";
import { FreedAges } from "./ports/freed-ages.ts";
import type { TcpFrontSettings } from "./start-tcp-front-controller.ts";

export interface FrontRemovalOptions {
  readonly client: KubeClient;
  readonly settings: Pick<TcpFrontSettings, "quarantineMs" | "writesPerSecond">;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Removal extends FrontRemovalOptions {
  readonly ages: FreedAges;
}

const backoff: Backoff = { baseMs: 1_000, maxMs: 60_000, jitter: 0.2 };
/** The pause after a refusal: only a changed role helps. */
const refusedAgainMs = 600_000;
/** So many slices are written at a time. */
const batchSize = 8;

/**
 * Removes the slices of earlier leaders where no activators are configured any more. Such a slice would lead clients to addresses that
 * nobody has now, or somebody else. It first leads nowhere, and is deleted after the quarantine of its ports, because activators may be
 * configured again. Nobody adds slices meanwhile: once a list shows none, no more calls are made.
 */
export function startFrontRemoval(options: FrontRemovalOptions): Running {
  const { clock, log } = options;
  return startTask("the removal of TCP fronts", async (signal) => {
    const onFailure = (err: unknown, failures: number) => {
      log.warn({ err, failures }, "could not remove EndpointSlices; retrying");
      return isRefusal(err) ? refusedAgainMs : undefined;
    };
    const removal = { ...options, ages: new FreedAges(clock) };
    await repeatUntilDone({ clock, signal, backoff, round: () => removeFronts(removal, signal), onFailure });
    await aborted(signal);
  });
}

/**
 * Lists the slices, and takes the next step with each. Returns the milliseconds until the step after it; undefined: nothing is left.
 *
 * @throws the error of the list, or of the first slice that could not be written; then all others were tried too.
 */
async function removeFronts(options: Removal, signal: AbortSignal): Promise<number | undefined> {
  const { client, clock, settings } = options;
  const { items } = await listEverything(client, endpointSliceType, { labelSelector: tcpFrontSelector }, signal);
  let againMs: number | undefined;
  const failures: unknown[] = [];
  for (let start = 0; start < items.length; start += batchSize) {
    if (start > 0) await clock.sleep((batchSize * 1_000) / settings.writesPerSecond, signal);
    const batch = items.slice(start, start + batchSize);
    for (const result of await Promise.allSettled(batch.map((slice) => removeFront(slice, options, signal)))) {
      if (result.status === "rejected") failures.push(result.reason);
      // The last one of all: a list for each would be as many lists as slices.
      else if (result.value !== undefined) againMs = Math.max(againMs ?? 0, result.value);
    }
  }
  if (failures.length > 0) throw failures[0];
  return againMs;
}

/** Takes the next step, and returns the milliseconds until the one after it; undefined: there is none. */
async function removeFront(
  slice: Stored<EndpointSlice>,
  { client, clock, ages, settings: { quarantineMs } }: Removal,
  signal: AbortSignal,
): Promise<number | undefined> {
  const key = keyOf(slice);
  ages.see(key, tcpFrontOf(slice));
  const rested = ages.restedMs(key);
  const { action, recheckAfterMs } = decide({ ...unused(slice), now: clock.now(), quarantineMs, rested });
  if (!action) return recheckAfterMs;
  const { namespace, name, uid, resourceVersion } = action.slice.metadata;
  try {
    if (action.do === "delete") {
      const preconditions = { uid: uid ?? "", resourceVersion: resourceVersion ?? "" };
      await client.delete(endpointSliceType, { namespace, name: name ?? "" }, { preconditions }, signal);
    } else {
      await client.replace(endpointSliceType, action.slice, {}, signal);
      ages.see(key, tcpFrontOf(action.slice));
    }
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  if (action.do === "delete") ages.forget(key);
  return recheckAfterMs;
}

/** The slice of a sandbox whose Service does not lead to activators. */
const unused = (slice: Stored<EndpointSlice>): Omit<ObservedFront, "now" | "quarantineMs" | "rested"> => ({
  ...{ slice, sandbox: undefined, hasService: false },
  ...{ reserved: [], contested: new Set(), freePorts: [], activators: [] },
});

const isRefusal = (error: unknown): boolean => error instanceof ApiError && (error.code === 401 || error.code === 403);
