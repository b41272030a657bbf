import type { ServerResponse } from "node:http";
import { ownText } from "../../lib/data/own-text.ts";
import { SetsByKey } from "../../lib/data/sets-by-key.ts";
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
    /** The maximum number of those of one program, as its `User-Agent` names it: others can always watch too. */
    readonly watchesOfProgramMax: number;
    /** What all watches together may have unsent. Beyond it, those that are furthest behind go, until half of it is left. */
    readonly unsentBytesMax: number;
  };
}

/** Not longer than a `User-Agent` of honest programs: it is kept for as long as the watch. */
const programCharactersMax = 200;
const programOf = ({ req }: ServerResponse): string =>
  ownText((req.headers["user-agent"] ?? "").slice(0, programCharactersMax));

/** The open watches. */
export class Watches {
  readonly #options: WatchesOptions;
  readonly #open = new Set<WatchStream>();
  readonly #ofProgram = new SetsByKey<WatchStream>();
  /** What was unsent at the last look, and all that was written since. */
  #unsentAtMost = 0;

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  /** @throws StatusError 429 when too many are open. */
  start(response: ServerResponse, request: WatchRequest): void {
    const { storage, hub, clock, limits } = this.#options;
    const program = programOf(response);
    if (this.#open.size >= limits.watchesMax || this.#ofProgram.of(program).size >= limits.watchesOfProgramMax)
      throw tooManyRequests("too many watches are open, please try again later");
    const stream = new WatchStream(response, request, {
      ...{ storage, clock, limits },
      wrote: (bytes) => this.#wrote(bytes),
    });
    this.#open.add(stream);
    const place = this.#ofProgram.add(program, stream);
    response.on("close", () => {
      this.#open.delete(stream);
      place[Symbol.dispose]();
    });
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
