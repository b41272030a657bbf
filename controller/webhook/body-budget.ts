import type { IncomingMessage } from "node:http";
import { onAbort } from "../../lib/guard/on-abort.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { GrowingBytes } from "./growing-bytes.ts";

export interface BodyLimits {
  /** Of one request. */
  readonly bytesMax: number;
  /** Of all requests that are being read, wait for their turn, or whose answers are being written. */
  readonly bytesTotalMax: number;
}

/** A body is not read to its end, or not answered: `code` is the HTTP status of the reason. */
export class BodyRefused extends Error {
  override readonly name = "BodyRefused";
  readonly code: 400 | 413 | 503;

  constructor(code: BodyRefused["code"], message: string) {
    super(message);
    this.code = code;
  }
}

// A body of the largest size comes at 2 MiB/s within the 30 s of a request. The first two seconds are for setting out.
const graceMs = 2_000;
const bytesPerMsMin = 1024;
// After this time without received or sent bytes a client counts as stalled.
const stillMs = 1_000;

// The error for a dropped request needs little room.
const smallBytes = 1_024;

/** How soon something is shed for others, the lowest first. A waiting body waits for the server, not for its client. */
const rankOf = { reading: 0, answering: 0, waiting: 1 } as const;
type Stage = keyof typeof rankOf;

/** Room that one request holds, for its body and then for its answer, until it is disposed of. */
export class Hold implements Disposable {
  readonly peer: string;
  readonly beganMs: number;
  readonly shed: AbortController = new AbortController();
  readonly #budget: BodyBudget;
  bytes = 0;
  stage: Stage = "reading";
  lastStepMs: number;

  constructor(budget: BodyBudget, peer: string, nowMs: number) {
    this.#budget = budget;
    this.peer = peer;
    this.beganMs = nowMs;
    this.lastStepMs = nowMs;
  }

  /** @throws BodyRefused when there is no room for so many bytes more. */
  grow(bytes: number): void {
    this.#budget.grow(this, bytes);
  }

  /** Gives back all its room; it may grow again. */
  release(): void {
    this.#budget.release(this);
  }

  /** Holds an answer in place of the body; `cut` is called when it is shed for others. False: there is no room for it. */
  answers(bytes: number, cut: () => void): boolean {
    this.release();
    this.stage = "answering";
    if (this.shed.signal.aborted) return bytes < smallBytes;
    onAbort(this.shed.signal, cut);
    try {
      this.grow(bytes);
      return true;
    } catch (error) {
      if (error instanceof BodyRefused) return false;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

/**
 * Bounds the bytes of bodies and responses in memory. At the limit, not the request that sends the next byte is dropped, but
 * first the request that has been stalled for longest, or came slower than 1 MiB/s; then one of the peer that holds most.
 * So no client can take the room of others by holding it.
 */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #clock: Clock;
  /** Those that hold bytes. */
  readonly #holds = new Set<Hold>();
  readonly #bytesOf = new Map<string, number>();
  #bytesTotal = 0;

  constructor(limits: BodyLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get bytesTotal(): number {
    return this.#bytesTotal;
  }

  /** Room for one request of a peer. */
  open(peer: string): Hold {
    return new Hold(this, peer, this.#clock.ticksMs());
  }

  /**
   * Reads a body, and counts its bytes for this request.
   *
   * @throws BodyRefused when it is too large, there is no room for it, it was shed for others, or its client left.
   */
  async read(request: IncomingMessage, hold: Hold): Promise<Buffer> {
    const body = new GrowingBytes();
    const stop = () => void request.destroy(hold.shed.signal.reason);
    using _shedding = onAbort(hold.shed.signal, stop);
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        if (hold.bytes + chunk.length > this.#limits.bytesMax) throw tooLarge(this.#limits.bytesMax);
        hold.grow(chunk.length);
        body.add(chunk);
      }
      hold.stage = "waiting";
      return body.view();
    } catch (error) {
      // It counts no more: where one body follows the other, many would wait to be collected.
      body.free();
      throw error instanceof BodyRefused ? error : new BodyRefused(400, "the body broke off");
    }
  }

  grow(hold: Hold, bytes: number): void {
    if (hold.shed.signal.aborted) throw hold.shed.signal.reason;
    hold.lastStepMs = this.#clock.ticksMs();
    this.#count(hold, bytes);
    while (this.#bytesTotal > this.#limits.bytesTotalMax) {
      const victim = this.#nextToGo(hold);
      this.release(victim);
      if (victim === hold) throw noRoom();
      victim.shed.abort(noRoom());
    }
  }

  release(hold: Hold): void {
    this.#count(hold, -hold.bytes);
  }

  #count(hold: Hold, bytes: number): void {
    hold.bytes += bytes;
    if (hold.bytes > 0) this.#holds.add(hold);
    else this.#holds.delete(hold);
    this.#bytesTotal += bytes;
    const ofPeer = (this.#bytesOf.get(hold.peer) ?? 0) + bytes;
    if (ofPeer > 0) this.#bytesOf.set(hold.peer, ofPeer);
    else this.#bytesOf.delete(hold.peer);
  }

  #nextToGo(newest: Hold): Hold {
    const others = [...this.#holds].filter((hold) => hold !== newest);
    const late = others.filter((hold) => this.#isLate(hold));
    if (late.length > 0) return late.reduce((one, other) => (other.lastStepMs < one.lastStepMs ? other : one));
    const most = Math.max(...this.#bytesOf.values());
    const candidates = others.filter(({ peer }) => this.#bytesOf.get(peer) === most);
    // Of a peer that holds most itself, the newest body goes before those that have come whole.
    const mayGo =
      newest.peer === candidates[0]?.peer ? candidates.filter(({ stage }) => rankOf[stage] === 0) : candidates;
    return mayGo.reduce((one, other) => (isSooner(other, one) ? other : one), mayGo[0] ?? newest);
  }

  #isLate({ stage, bytes, beganMs, lastStepMs }: Hold): boolean {
    if (stage === "waiting") return false;
    const nowMs = this.#clock.ticksMs();
    if (nowMs - lastStepMs > stillMs) return true;
    const tookMs = nowMs - beganMs;
    return stage === "reading" && tookMs > graceMs && bytes < (tookMs - graceMs) * bytesPerMsMin;
  }
}

function isSooner(one: Hold, other: Hold): boolean {
  const [oneRank, otherRank] = [rankOf[one.stage], rankOf[other.stage]];
  return oneRank === otherRank ? one.lastStepMs < other.lastStepMs : oneRank < otherRank;
}

const noRoom = () => new BodyRefused(503, "too many bodies at once; try again");
const tooLarge = (bytesMax: number) => new BodyRefused(413, `the body has more than ${bytesMax} bytes`);
