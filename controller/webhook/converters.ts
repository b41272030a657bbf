import { measureJson } from "../../lib/data/json-parts.ts";
import { onAbort } from "../../lib/guard/on-abort.ts";
import { FairTasks } from "../../lib/queues/fair-tasks.ts";
import { TimeShares } from "../../lib/queues/time-shares.ts";
import { TokenBuckets } from "../../lib/queues/token-buckets.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { type ConvertedReview, Converter, notStartedFor, ReviewNotConverted } from "./converter.ts";
import { rankOfShare } from "./peer-shares.ts";

export interface ConverterLimits {
  /** The bytes of a small review, as of one object; lists and hostile reviews are larger. */
  readonly smallBytesMax: number;
  /** The opening brackets and commas of a small review: the time of a conversion follows them more than the bytes. */
  readonly smallPartsMax: number;
  /** The nesting of a small review. V8 writes JSON in a time that grows with the square of it. */
  readonly smallNestingMax: number;
  /** The processes for small reviews, and so how many of these are converted at the same time. */
  readonly processesForSmall: number;
  readonly processesForLarge: number;
  /** The heap of V8 of each process for small reviews. */
  readonly heapMegabytesForSmall: number;
  readonly heapMegabytesForLarge: number;
  /** Of the reviews of one peer, of each size. */
  readonly processesOfPeer: number;
  /** Milliseconds of the processes' time that a peer is forgiven each second. For large reviews the one that has used least comes first. */
  readonly forgivenPerSecond: number;
  /** The most that counts, in milliseconds: peers that have used more take turns. */
  readonly usedMsMax: number;
  /** Reviews that wait for a process. */
  readonly waitingMax: number;
  readonly waitingOfPeerMax: number;
  /** How long a review may wait for a process, in milliseconds. */
  readonly waitMs: number;
  /** How long its conversion may take, in milliseconds. */
  readonly convertMs: number;
}

export interface Review {
  readonly body: Uint8Array;
  /** Whose share it is of, see `PeerShares`. */
  readonly peer: string;
  /** Gives up a review that waits. */
  readonly signal: AbortSignal;
  /** Called when a process has got the body. */
  readonly taken: () => void;
}

/** The processes for reviews of one size. */
interface Lane {
  readonly turns: FairTasks;
  readonly heapMegabytes: number;
  readonly idle: Converter[];
}

/**
 * Processes that convert reviews. A process that takes too long or too much memory for a review is ended, and another one is started
 * for the next review. Small reviews have processes of their own, so large ones do not delay them, and a process for small ones
 * needs little memory. Peers that are no Pods come first. Then each peer that has small reviews has an equal part of the time. Of the
 * large ones those of the peer that has used least of the processes' time come first.
 */
export class Converters implements AsyncDisposable {
  readonly #limits: ConverterLimits;
  readonly #clock: Clock;
  readonly #small: Lane;
  readonly #large: Lane;
  /** Milliseconds of the processes' time, by peer. */
  readonly #used: TokenBuckets;
  /** The time of small reviews, by rank: who comes later has none of the first's to catch up with. */
  readonly #shares: readonly [TimeShares, TimeShares] = [new TimeShares(), new TimeShares()];
  readonly #all = new Set<Converter>();
  readonly #waitingOf = new Map<string, number>();
  /** Why the last process could not be started, and since when. */
  #notStarted: { readonly error: unknown; readonly atMs: number } | undefined;
  #waiting = 0;
  #reviews = 0;

  constructor(limits: ConverterLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#used = new TokenBuckets({ burst: 0, perSecond: limits.forgivenPerSecond }, clock);
    const usedBy = (peer: string) => Math.min(this.#used.overdraft(peer), limits.usedMsMax);
    const { processesOfPeer: maxOfGroup } = limits;
    const ordered = { maxOfGroup, rankOf: rankOfShare };
    const shareOf = (peer: string) => this.#sharesFor(peer).usedMs(peer);
    const small = new FairTasks({ ...ordered, max: limits.processesForSmall, usedBy: shareOf });
    const large = new FairTasks({ ...ordered, max: limits.processesForLarge, usedBy });
    this.#small = { turns: small, heapMegabytes: limits.heapMegabytesForSmall, idle: [] };
    this.#large = { turns: large, heapMegabytes: limits.heapMegabytesForLarge, idle: [] };
    // The first review need not wait for a process to start; most are small. If none can be started, the review will report that.
    try {
      this.#small.idle.push(this.#start(this.#small));
    } catch (error) {
      if (!(error instanceof ReviewNotConverted)) throw error;
    }
  }

  /** @throws ReviewNotConverted when there was no room, it took too long, or its process ended. */
  async convert(review: Review): Promise<ConvertedReview> {
    const { peer, signal } = review;
    const lane = this.#isSmall(review) ? this.#small : this.#large;
    const { waitingMax, waitingOfPeerMax, waitMs } = this.#limits;
    if (this.#waiting >= waitingMax || (this.#waitingOf.get(peer) ?? 0) >= waitingOfPeerMax) {
      throw new ReviewNotConverted(503, "too many reviews wait to be converted; try again");
    }
    this.#reviews += 1;
    const key = String(this.#reviews);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    using _late = this.#clock.after(waitMs, () => reject(tooLate(waitMs)));
    const leave = () => reject(signal.reason);
    using _leaving = onAbort(signal, leave);
    this.#count(peer, 1);
    using _present = lane === this.#small ? this.#sharesFor(peer).enter(peer) : undefined;
    try {
      if (signal.aborted) leave();
      lane.turns.add(peer, key, () => {
        resolve();
        return over.promise;
      });
      await promise;
    } catch (error) {
      lane.turns.drop(peer, key);
      over.resolve(); // its turn may have come meanwhile
      throw error;
    } finally {
      this.#count(peer, -1);
    }
    const beganMs = this.#clock.ticksMs();
    try {
      return await this.#convertNow(review, lane);
    } finally {
      const tookMs = this.#clock.ticksMs() - beganMs;
      this.#used.spend(peer, tookMs);
      if (lane === this.#small) this.#sharesFor(peer).spend(peer, tookMs);
      over.resolve();
    }
  }

  #isSmall({ body }: Review): boolean {
    const { smallBytesMax, smallPartsMax, smallNestingMax } = this.#limits;
    if (body.length > smallBytesMax) return false;
    const { parts, nesting } = measureJson(body);
    return parts <= smallPartsMax && nesting <= smallNestingMax;
  }

  #sharesFor(peer: string): TimeShares {
    return this.#shares[rankOfShare(peer) === 0 ? 0 : 1];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#all].map((converter) => converter.end(new Error("the webhook is shutting down"))));
  }

  async #convertNow({ body, taken }: Review, lane: Lane): Promise<ConvertedReview> {
    const { convertMs } = this.#limits;
    const converter = lane.idle.pop() ?? this.#start(lane);
    using _limit = this.#clock.after(convertMs, () => {
      void converter.end(new ReviewNotConverted(500, `the conversion took more than ${convertMs} ms`));
    });
    const converting = converter.convert(body);
    taken();
    const converted = await converting;
    // Its time may have run out while the answer was in the pipe: then it is being ended.
    if (!converter.isEnding) lane.idle.push(converter);
    return converted;
  }

  /** @throws ReviewNotConverted when it cannot be started, and for a second after that: the cause needs time to pass. */
  #start({ heapMegabytes, idle }: Lane): Converter {
    const nowMs = this.#clock.ticksMs();
    if (this.#notStarted && nowMs - this.#notStarted.atMs < startAgainMs) throw notStartedFor(this.#notStarted.error);
    const failed = (error: unknown) => {
      this.#notStarted = { error, atMs: this.#clock.ticksMs() };
    };
    const ended = (notStarted: Error | undefined) => {
      if (notStarted) failed(notStarted);
      this.#all.delete(converter);
      const at = idle.indexOf(converter);
      if (at >= 0) idle.splice(at, 1);
    };
    let converter: Converter;
    try {
      converter = new Converter(heapMegabytes, ended);
    } catch (error) {
      failed(error);
      throw notStartedFor(error);
    }
    this.#all.add(converter);
    return converter;
  }

  #count(peer: string, change: 1 | -1): void {
    this.#waiting += change;
    const ofPeer = (this.#waitingOf.get(peer) ?? 0) + change;
    if (ofPeer > 0) this.#waitingOf.set(peer, ofPeer);
    else this.#waitingOf.delete(peer);
  }
}

/** After a process could not be started. */
const startAgainMs = 1_000;

const tooLate = (waitMs: number) =>
  new ReviewNotConverted(503, `no conversion process was free for ${waitMs} ms; try again`);
