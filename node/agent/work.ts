import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import { guarded } from "../../lib/guard/guard.ts";
import type { Logger } from "../../lib/log/log.ts";
import { aborted } from "../../lib/process/lifecycle.ts";
import { KeyedQueue } from "../../lib/queues/keyed-queue.ts";
import { type Outcome, startWorkers } from "../../lib/queues/workers.ts";
import type { Agent } from "./agent.ts";
import type { Doors } from "./doors/doors.ts";
import { type ImageKey, textOf } from "./store/image-key.ts";
import { removeLeft } from "./sweep.ts";
import type { Watching } from "./watch/start-watching.ts";

/** Captures in progress at the same time. More of them wait, and are not frozen. Namespaces share them. */
const captureWorkers = 16;
/** All else: preflights, reports, and the ends of Pods. No capture holds it up. */
const lookWorkers = 8;
/** A pass that is about to end is waited for. */
const busyMs = 20;
/** Everything on the disk is looked at again: what was missed, and how much room there is. */
const sweepMs = 60_000;
/** Images are measured again so often: it takes a look at each of their files. */
const measureMs = 600_000;
/** A Pod that was captured waits for it. */
const retries = { baseMs: 20, maxMs: 5_000, jitter: 0.2 };

export interface WorkParts {
  readonly watching: Pick<Watching, "failed" | "keys" | "onChange">;
  readonly doors: Doors;
  readonly log: Logger;
}

/** Gives each image to one worker at a time, whenever something about it may have changed. */
export async function work(
  agent: Pick<Agent, "pass" | "measureStore">,
  { watching, doors, log }: WorkParts,
  signal: AbortSignal,
): Promise<void> {
  const { clock, records, store } = doors;
  const looks = new KeyedQueue(clock, retries, { workers: lookWorkers });
  const captures = new KeyedQueue(clock, retries, { workers: captureWorkers });
  const add = (key: ImageKey) => looks.add(textOf(key));
  const addOfPod = guarded("queue", async (namespace: string, name: string) => {
    const recorded = (await records.keys()).filter((key) => key.namespace === namespace && key.pod === name);
    for (const key of [...(await store.keysOfPod(namespace, name)), ...recorded]) add(key);
  });
  watching.onChange({
    image: add,
    pod: ({ metadata }) => addOfPod(metadata.namespace ?? "", metadata.name),
  });
  const onFailure = (key: string, error: unknown) => {
    const isUsual = isConflict(error) || isNotFound(error);
    log[isUsual ? "debug" : "warn"]({ err: error, image: key }, "a pass has failed; retrying");
  };
  const lanes = lanesOf(agent, looks, captures);
  await using looking = startWorkers({
    ...{ name: "the workers of the node agent", queue: looks, workers: lookWorkers, onFailure },
    reconcile: lanes.look,
  });
  await using capturing = startWorkers({
    ...{ name: "the captures of the node agent", queue: captures, workers: captureWorkers, onFailure },
    reconcile: lanes.capture,
  });
  let measuredMs = Number.NEGATIVE_INFINITY;
  const addAll = async () => {
    if (clock.ticksMs() - measuredMs >= measureMs) {
      await agent.measureStore();
      measuredMs = clock.ticksMs();
    }
    for (const key of [...(await store.keys()), ...(await records.keys()), ...watching.keys()]) add(key);
  };
  const sweep = async () => {
    for (;;) {
      await removeLeft(doors).catch((error: unknown) => {
        log.warn({ err: error }, "cannot remove leftovers of shims; retrying in a minute");
      });
      // A disk that cannot be read for a moment must not end the captures in progress.
      await addAll().catch((error: unknown) => {
        log.warn({ err: error }, "cannot look at all memory images of this node; retrying in a minute");
      });
      await clock.sleep(sweepMs, signal);
    }
  };
  const swept = sweep().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  await Promise.race([aborted(signal), looking.failed, capturing.failed, watching.failed, swept]);
}

/** A capture takes up to a minute, so it has workers of its own. An image is still in one pass at a time. */
function lanesOf(agent: Pick<Agent, "pass">, looks: KeyedQueue, captures: KeyedQueue) {
  const looked = new Set<string>();
  const captured = new Set<string>();
  return {
    async look(key: string, stop: AbortSignal): Promise<Outcome> {
      if (captured.has(key)) return {}; // it is added again at the end of the capture
      looked.add(key);
      try {
        const { isCaptureDue, ...outcome } = await agent.pass(key, stop, false);
        if (isCaptureDue) captures.add(key);
        return outcome;
      } finally {
        looked.delete(key);
      }
    },
    async capture(key: string, stop: AbortSignal): Promise<Outcome> {
      if (looked.has(key)) return { requeueAfterMs: busyMs };
      captured.add(key);
      try {
        await agent.pass(key, stop);
        return {};
      } finally {
        captured.delete(key);
        looks.add(key);
      }
    },
  };
}
