import { parseKey } from "../../api/kinds/meta.ts";
import { FairTasks } from "../../lib/queues/fair-tasks.ts";

/** Suspensions that are asked for at the same time. */
const writesMax = { max: 20, maxOfGroup: 8 };

/**
 * Asks for the suspension of idle sandboxes, some at a time. Nobody waits for all of them: a write that the API server does not answer
 * would keep the activity of all sandboxes from being read, and so every sandbox awake.
 */
export class SuspensionWrites {
  readonly #tasks = new FairTasks(writesMax);
  readonly #open = new Set<Promise<void>>();
  readonly #suspend: (key: string, signal: AbortSignal) => Promise<void>;

  constructor(suspend: (key: string, signal: AbortSignal) => Promise<void>) {
    this.#suspend = suspend;
  }

  /** A sandbox that is in work already is not added again. */
  add(key: string, signal: AbortSignal): void {
    this.#tasks.add(namespaceOf(key), key, async () => {
      if (signal.aborted) return;
      const write = this.#suspend(key, signal).finally(() => this.#open.delete(write));
      this.#open.add(write);
      await write;
    });
  }

  /** The sandbox is gone. */
  drop(key: string): void {
    this.#tasks.drop(namespaceOf(key), key);
  }

  /** Resolves once no write is open. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#open);
  }
}

const namespaceOf = (key: string): string => parseKey(key).namespace ?? "";
