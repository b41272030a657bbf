import type { Clock } from "../../lib/time/clock.ts";
import { isBehind } from "./queue.ts";
import { type BufferLoans, ReadPlace } from "./read-place.ts";
import type { SocketReader, WireSocket } from "./wire-socket.ts";

/** Called for the progress of a relay. */
export interface RelayListener {
  readonly clock: Clock;
  /** What the source sent before its end is still for the target if the source is lost afterwards. Absent: it is not. */
  readonly outlivesSource?: true;
  /** Bytes have arrived. They are forwarded, unless this side drops by the end of the call. */
  arrived?(): void;
  /** This many bytes were forwarded; they are at the beginning of `bytes` until the call returns. */
  passed(length: number, bytes: Buffer): void;
  /** The source socket of this side is closed. */
  closed(): void;
  /** Both sides are about to be cut, because the replica exits. */
  cut?(): void;
}

/**
 * One direction of a relay: the bytes of one socket are written to the other. An end is forwarded alone, so a half-closed
 * connection stays half-closed; a reset is forwarded as a reset, because an end would mark it as complete. What a side sent
 * before it closed is forwarded, also if it closed without reading what the other side still sends.
 */
export class RelaySide implements SocketReader {
  readonly #source: WireSocket;
  readonly #target: WireSocket;
  readonly #place: ReadPlace;
  readonly #listener: RelayListener | undefined;
  #ended = false;
  #movedMs = Number.NEGATIVE_INFINITY;
  #isDropping = false;
  #hasDropped = false;
  #cutsEnd = false;

  /** `place`: the source's, from its former reader. */
  constructor(source: WireSocket, target: WireSocket, place: ReadPlace, listener?: RelayListener) {
    this.#source = source;
    this.#target = target;
    this.#place = place;
    this.#listener = listener;
  }

  nextBuffer(): Buffer {
    return this.#place.next();
  }

  get wantsMore(): boolean {
    return (this.#target.destroyed || !isBehind(this.#target)) && this.#place.isFree;
  }

  take(bytes: Buffer, length: number): void {
    const target = this.#target;
    this.#place.landed(bytes);
    if (!target.writable) return this.#refuse();
    this.#listener?.arrived?.();
    if (this.#isDropping) {
      this.#hasDropped = true;
      return;
    }
    this.moved();
    this.#listener?.passed(length, bytes);
    this.#place.write(target, bytes, 0, length);
    this.#place.took(length);
  }

  ended(): void {
    this.#ended = true;
    if (this.#hasDropped && this.#cutsEnd) this.#target.reset();
    else this.#target.end();
  }

  /** Whether the source has ended its side. */
  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Bytes of the source were forwarded. */
  moved(): void {
    if (this.#listener) this.#movedMs = this.#listener.clock.ticksMs();
  }

  /** Forwards nothing more. `cutsEnd`: an end behind dropped bytes is forwarded as a reset, because it would mark a part as the whole. */
  drop(cutsEnd = false): void {
    this.#isDropping = true;
    this.#cutsEnd = cutsEnd;
  }

  /** Whether bytes of the source were dropped since `drop`. */
  get hasDropped(): boolean {
    return this.#hasDropped;
  }

  /** Whether an end now would cut nothing, as far as this side can know: the source has sent nothing for a while. */
  isQuiet(nowMs: number): boolean {
    return this.wantsMore && this.#target.writableLength === 0 && nowMs - this.#movedMs >= quietMs;
  }

  /**
   * The target takes no more. If it was lost, the source must see a reset as well, perhaps before the target's close is
   * reported. Input is dropped while a target that we have ended sends its queue, for as long as `endRelay` allows, while a
   * target is read to its end because a write failed, and while the source takes what is left of a target that has ended.
   */
  #refuse(): void {
    if (this.#target.destroyed && !this.#target.readableEnded) this.#source.reset();
  }

  /** Cuts both sides in one step: if the process exits before the close of one is reported, the kernel ends the other. */
  cutRelay(): void {
    this.#listener?.cut?.();
    this.#source.reset();
    this.#target.reset();
  }

  /** The other direction's bytes were sent here, so it may read on. */
  drained(): void {
    this.#target.readOn();
  }

  /** The source may have sent its last words before it hung up. What the target sends from now on is dropped. */
  writeFailed(): boolean {
    this.#source.readOn();
    this.#target.readOn();
    return true;
  }

  closed(hadError: boolean): void {
    this.#place.close();
    const listener = this.#listener;
    // Closed without an end: the other side has no peer.
    if (!this.#ended || (hadError && !listener?.outlivesSource)) this.#target.reset();
    else if (hadError && listener) closeOnceTaken(this.#target, listener.clock);
    this.#listener?.closed();
  }
}

export interface RelaySides {
  /** From the client to the sandbox. */
  readonly up: RelaySide;
  readonly down: RelaySide;
}

/** How long both sides may take to end after our end, and data to stop before it, in milliseconds. */
const closeGraceMs = 1_000;
/** A side that has sent nothing for this long is taken for one that is not in the middle of a stream, in milliseconds. */
const quietMs = 250;

/**
 * Ends a relay from our side once nothing moves. A side that still sends at the limit was cut in the middle, and so was one
 * whose bytes were dropped, and one that has not ended though its client has, and waits for the whole: then both sides are reset.
 * `up` forwards nothing from now on.
 */
export function endWhenQuiet(sandbox: WireSocket, client: WireSocket, { up, down }: RelaySides, clock: Clock): void {
  up.drop(true);
  const limitMs = clock.ticksMs() + closeGraceMs;
  const check = () => {
    const nowMs = clock.ticksMs();
    if (down.hasEnded && (!up.hasEnded || up.hasDropped)) {
      sandbox.reset(); // what it gets is cut
      closeOnceTaken(client, clock);
    } else if (down.hasEnded) {
      endRelay(sandbox, client, clock, "untilTaken");
    } else if (!up.hasDropped && !up.hasEnded && up.isQuiet(nowMs) && down.isQuiet(nowMs)) {
      endRelay(sandbox, client, clock, "untilTaken");
    } else if (up.hasDropped || nowMs >= limitMs) {
      sandbox.reset();
      client.reset();
    } else clock.after(quietMs, check);
  };
  check();
}

/** How long a client may take to read what the kernel still has for it, in milliseconds: nothing shows how much that is. */
const lastReadsMs = 5_000;

/**
 * Closes a client that has not ended its side, though its sandbox has, and is gone: once it may have taken everything. If it sends
 * after the close, its kernel drops what it has not read, so that what it sends before is dropped.
 */
export function closeOnceTaken(client: WireSocket, clock: Clock): void {
  client.end();
  let dueMs = clock.ticksMs() + lastReadsMs;
  const check = () => {
    const nowMs = clock.ticksMs();
    if (client.writableLength > 0 && !client.errored) dueMs = nowMs + lastReadsMs;
    if (nowMs >= dueMs) client.destroy();
    else if (!client.destroyed) clock.after(closeGraceMs, check);
  };
  clock.after(closeGraceMs, check);
}

/** Resets both sides at the limit, unless both were sent an end by then. */
export function resetUnlessEnded(one: WireSocket, other: WireSocket, clock: Clock): void {
  clock.after(closeGraceMs, () => {
    if (one.writableEnded && other.writableEnded) return;
    one.reset();
    other.reset();
  });
}

/**
 * How long a client may be slow to take what is left once the sandbox has ended its side. That needs no Pod: while the limits of the
 * tunnel still watch the client, it may be until they end it. At such a limit it is the grace alone.
 */
export type Patience = "untilTaken" | "grace";

/** Ends a relay from our side: queued bytes are sent, and a side that has not ended by then is cut off. */
export function endRelay(sandbox: WireSocket, client: WireSocket, clock: Clock, patience: Patience): void {
  sandbox.end();
  client.end();
  const end = () => {
    if (!sandbox.destroyed) cutOff(sandbox, client);
    const isTaking = sandbox.readableEnded && client.writableLength > 0 && !client.destroyed && !client.errored;
    if (isTaking && patience === "untilTaken") clock.after(closeGraceMs, end);
    else cutOff(client, sandbox);
  };
  clock.after(closeGraceMs, end);
}

/** A cut stream must not pass for complete: a side sees an end only if it got all bytes of the other side, to its end. */
export function cutOff(socket: WireSocket, other: WireSocket): void {
  if (socket.writableLength > 0 || !other.readableEnded) socket.reset();
  else socket.destroy();
}

/** Joins two sockets that were not read before. */
export function relay(one: WireSocket, other: WireSocket, loans: BufferLoans): void {
  one.reader = new RelaySide(one, other, new ReadPlace(loans, one));
  other.reader = new RelaySide(other, one, new ReadPlace(loans, other));
  one.readOn();
  other.readOn();
}
