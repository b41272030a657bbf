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
    /** What all watches together may have unsent. Beyond it, those that are furthest behind go, until half of it is left. */
    readonly unsentBytesMax: number;
  };
}

/** The open watches. */
export class Watches {
  readonly #options: WatchesOptions;
  readonly #open = new Set<WatchStream>();
  /** What was unsent at the last look, and all that was written since. */
  #unsentAtMost = 0;

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  /** @throws StatusError 429 when too many are open. */
  start(response: ServerResponse, request: WatchRequest): void {
    const { storage, hub, clock, limits } = this.#options;
    if (this.#open.size >= limits.watchesMax)
      throw tooManyRequests("too many watches are open, please try again later");
    const stream = new WatchStream(response, request, {
      ...{ storage, clock, limits },
      wrote: (bytes) => this.#wrote(bytes),
    });
    this.#open.add(stream);
    response.on("close", () => this.#open.delete(stream));
    stream.start(hub);
  }

  #wrote(bytes: number): void {
    const { unsentBytesMax } = this.#options.limits;
    this.#unsentAtMost += bytes;
    if (this.#unsentAtMost <= unsentBytesMax) return;
    const watches = [...this.#open].map((stream) => ({ stream, unsent: stream.unsentBytes }));
    let sum = watches.reduce((total, { unsent }) => total + unsent, 0);
    for (const { stream, unsent } of watches.sort((one, other) => other.unsent - one.unsent)) {
      if (sum <= unsentBytesMax / 2) break;
      sum -= unsent;
      this.#open.delete(stream);
      stream.drop();
    }
    this.#unsentAtMost = sum;
  }

  /** Ends all watches with a bookmark; clients resume later. */
  endAll(): void {
    for (const stream of this.#open) stream.end();
  }
}
