import type { Leaver } from "../request.ts";
import type { Destination, Surroundings } from "./errand.ts";

/** For how many milliseconds a name that leads nowhere may turn out to be a new one. */
const newsLimitMs = 500;
/** How many requests wait for that at a time. Those beyond are refused at once. */
const waitingMax = 1_000;

/**
 * Sandboxes that were made a moment ago. Whoever made one, or saw it Ready by a watch of its own, may come before our watch has told
 * of it; and clients of this ecosystem send a command once, whatever the answer.
 */
export class Newcomers {
  readonly #around: Pick<Surroundings, "cluster" | "clock">;
  #waiting = 0;

  constructor(around: Pick<Surroundings, "cluster" | "clock">) {
    this.#around = around;
  }

  /** Resolves once there is such a sandbox, time is up, or the client has left; undefined where nobody has to wait. */
  arrival(to: Pick<Destination, "namespace" | "name">, client: Leaver): Promise<void> | undefined {
    const { cluster } = this.#around;
    if (cluster.sandbox(to.namespace, to.name) || !cluster.synced) return undefined;
    return this.#waiting < waitingMax ? this.#wait(to, client) : undefined;
  }

  async #wait({ namespace, name }: Pick<Destination, "namespace" | "name">, client: Leaver): Promise<void> {
    const { cluster, clock } = this.#around;
    const over = Promise.withResolvers<void>();
    let isOver = client.left;
    const stop = () => {
      isOver = true;
      over.resolve();
    };
    using _limit = clock.after(newsLimitMs, stop);
    using news = cluster.listen(namespace, name);
    client.onLeave(stop);
    this.#waiting += 1;
    while (!isOver && !cluster.sandbox(namespace, name)) {
      await Promise.race([news.next(), over.promise]);
      news.reset();
    }
    this.#waiting -= 1;
    client.onLeave(undefined);
  }
}
