import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import { guarded } from "../../lib/guard/guard.ts";
import type { Logger } from "../../lib/log/log.ts";
import { aborted } from "../../lib/process/lifecycle.ts";
import { KeyedQueue } from "../../lib/queues/keyed-queue.ts";
import { startWorkers } from "../../lib/queues/workers.ts";
import type { Agent } from "./agent.ts";
import type { Doors } from "./doors/doors.ts";
import { type ImageKey, textOf } from "./store/image-key.ts";
import type { Watching } from "./watch/start-watching.ts";

/** Captures in progress at the same time. More of them wait, and are not frozen. */
const workers = 16;
/** Everything on the disk is looked at again: what was missed, and how much room there is. */
const sweepMs = 60_000;
/** A Pod that was captured waits for it. */
const retries = { baseMs: 20, maxMs: 5_000, jitter: 0.2 };

export interface WorkParts {
  readonly watching: Watching;
  readonly doors: Doors;
  readonly log: Logger;
}

/** Gives each image to one worker at a time, whenever something about it may have changed. */
export async function work(agent: Agent, { watching, doors, log }: WorkParts, signal: AbortSignal): Promise<void> {
  const { clock, records, store } = doors;
  const queue = new KeyedQueue(clock, retries);
  const add = (key: ImageKey) => queue.add(textOf(key));
  const addOfPod = guarded("queue", async (namespace: string, name: string) => {
    const recorded = (await records.keys()).filter((key) => key.namespace === namespace && key.pod === name);
    for (const key of [...(await store.keysOfPod(namespace, name)), ...recorded]) add(key);
  });
  watching.onChange({
    image: add,
    pod: ({ metadata }) => void addOfPod(metadata.namespace ?? "", metadata.name),
  });
  await using running = startWorkers({
    name: "the workers of the node agent",
    queue,
    workers,
    reconcile: (key, stop) => agent.pass(key, stop),
    onFailure(key, error) {
      const isUsual = isConflict(error) || isNotFound(error);
      log[isUsual ? "debug" : "warn"]({ err: error, image: key }, "a pass has failed; retrying");
    },
  });
  const sweep = async () => {
    for (;;) {
      for (const key of [...(await store.keys()), ...(await records.keys()), ...watching.keys()]) add(key);
      await clock.sleep(sweepMs, signal);
    }
  };
  const swept = sweep().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  await Promise.race([aborted(signal), running.failed, watching.failed, swept]);
}
