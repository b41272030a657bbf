import type { ServerResponse } from "node:http";
import type { Clock } from "../../lib/time/clock.ts";
import { tooManyRequests } from "../status-errors.ts";
import type { Storage } from "../storage/storage.ts";
import type { WatchHub } from "./watch-hub.ts";
import { type WatchLimits, type WatchRequest, WatchStream } from "./watch-stream.ts";

export interface WatchesOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly limits: WatchLimits & {
    /** The maximum number of open watches. */
    readonly watchesMax: number;
  };
}

/** The open watches. */
export class Watches {
  readonly #options: WatchesOptions;
  readonly #open = new Set<WatchStream>();

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  /** @throws StatusError 429 when too many are open. */
  start(response: ServerResponse, request: WatchRequest): void {
    const { storage, hub, clock, limits } = this.#options;
    if (this.#open.size >= limits.watchesMax)
      throw tooManyRequests("too many watches are open, please try again later");
    const stream = new WatchStream(response, request, { storage, clock, limits });
    this.#open.add(stream);
    response.on("close", () => this.#open.delete(stream));
    stream.start(hub);
  }

  /** Ends all watches with a bookmark; clients resume later. */
  endAll(): void {
    for (const stream of this.#open) stream.end();
  }
}
