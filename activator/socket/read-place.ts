import type { Socket } from "node:net";
import { KeyCounts } from "../../lib/queues/key-counts.ts";
import { textBytesMax } from "./outgoing.ts";
import { commonBuffer, writeAheadBytes } from "./wire-socket.ts";

/** Enough for a body of 64 KiB, a common size, with its head. */
const ownBytes = 131_072;
/** After this many small reads in a row, the buffer is returned. */
const smallReadsMax = 16;

/** The share of the buffers of which an owner gets one only while it has fewer than are left. */
const sharedPart = 0.25;

/**
 * Limits the number of sockets with a read buffer of their own; the others copy what they read. A buffer is lent for as long as
 * a slow client takes what is in it, so the sandboxes of one namespace leave others some.
 */
export class BufferLoans {
  readonly #max: number;
  readonly #shared: number;
  readonly #ofOwner = new KeyCounts();
  #lent = 0;

  constructor(max: number) {
    this.#max = max;
    this.#shared = Math.floor(max * sharedPart);
  }

  get lent(): number {
    return this.#lent;
  }

  /** Whether a buffer was left to lend to the owner. Undefined: it has no share, and gets any. */
  borrow(owner: string | undefined): boolean {
    const free = this.#max - this.#lent;
    const isForOthers = owner !== undefined && free <= this.#shared && this.#ofOwner.of(owner) >= free;
    if (free <= 0 || isForOthers) return false;
    this.#lent += 1;
    if (owner !== undefined) this.#ofOwner.add(owner);
    return true;
  }

  /** The buffer itself is not reused: a write may still hold it. */
  giveBack(owner: string | undefined): void {
    this.#lent -= 1;
    if (owner !== undefined) this.#ofOwner.remove(owner);
  }
}

/** The destination of a place's writes. */
export type WriteTarget = Pick<Socket, "destroyed" | "writableLength" | "destroy"> & {
  write(bytes: Buffer, done?: () => void): boolean;
  write(text: string, encoding: "latin1"): boolean;
};

/** The socket of a place. */
export interface ReadSource {
  /** Resumes reading if its reader wants more. */
  readOn(): void;
}

/** A read buffer of one socket, and the writes that hold parts of it. */
class OwnBuffer {
  readonly bytes: Buffer = Buffer.allocUnsafeSlow(ownBytes);
  readonly #source: ReadSource;
  /** Writes whose callback is still to come. */
  #writes = 0;
  /** The destinations of these writes. */
  readonly #targets: WriteTarget[] = [];

  constructor(source: ReadSource) {
    this.#source = source;
  }

  /**
   * Whether a write may still send bytes of this buffer. A write's callback says that it will not, on any socket; a socket that
   * was destroyed, or has nothing queued, sends no more either. The size of a socket's queue does not show it.
   */
  get isHeld(): boolean {
    if (this.#writes === 0) return false;
    for (const { destroyed, writableLength } of this.#targets) if (!destroyed && writableLength > 0) return true;
    return false;
  }

  write(target: WriteTarget, part: Buffer): void {
    this.#writes += 1;
    if (!this.#targets.includes(target)) this.#targets.push(target);
    target.write(part, this.#written);
  }

  destroyTargets(): void {
    for (const target of this.#targets) target.destroy();
  }

  /** One function for all writes, so that Node calls them back at once. */
  readonly #written = (): void => {
    this.#writes -= 1;
    if (this.#writes > 0) return;
    this.#targets.length = 0;
    this.#source.readOn();
  };
}

/**
 * The read buffer of one socket: the buffer that all sockets share while reads are small, and one of its own while they are
 * large. Small reads are copied, large ones are written from where they lie.
 *
 * A place belongs to its socket and goes to the next reader together with it. It has at most one loan, which `close` returns
 * once, whatever reader was last. Nothing may be read while `isFree` is false; the source resumes when that changes.
 */
export class ReadPlace {
  readonly #loans: BufferLoans;
  readonly #source: ReadSource;
  /** The namespace that its next loan counts for; undefined: none. */
  owner: string | undefined;
  /** The namespace that its loan counts for. */
  #lentTo: string | undefined;
  #own: OwnBuffer | undefined;
  /** The buffer of the next read, unless it is a shared buffer. */
  #next: OwnBuffer | undefined;
  #smallReads = 0;
  /** A read of as many bytes is large: it fills the common buffer, or what was left to read of it. */
  #largeBytes = writeAheadBytes;
  /** `own` is left to its writes until they have ended. */
  #isAside = false;
  /** The number of kept parts of `own` that are not written yet. */
  #keepers = 0;
  /** The holder of a kept part owns the buffer and its loan. */
  #isAway = false;
  #isClosed = false;

  constructor(loans: BufferLoans, source: ReadSource, owner?: string) {
    this.#loans = loans;
    this.#source = source;
    this.owner = owner;
  }

  /** Whether no write still holds bytes that the next read would overwrite. */
  get isFree(): boolean {
    return this.#next === undefined || !this.#next.isHeld;
  }

  /**
   * The buffer of the next read, of at most `most` bytes. Only a socket with a loan reads more than the common buffer holds, and
   * a reader that limits its read gets no large buffer: its bytes are to be kept beside others.
   */
  next(most = commonBuffer.length): Buffer {
    if (this.#keepers > 0 && this.#own) {
      this.#own = undefined;
      this.#isAway = true;
    }
    if (this.#isAside) this.#isAside = this.#own?.isHeld ?? false;
    const isLimited = most < commonBuffer.length;
    this.#largeBytes = Math.min(most, writeAheadBytes);
    this.#next = this.#isAside || isLimited ? undefined : this.#own;
    if (this.#next) return this.#next.bytes;
    return isLimited ? commonBuffer.subarray(0, most) : commonBuffer;
  }

  /**
   * Says where a read landed, before the bytes are used.
   *
   * @throws Error if the read has overwritten bytes that a write still held. Their destination is cut off, because they are
   *   wrong.
   */
  landed(bytes: Buffer): void {
    const next = this.#next;
    if (bytes !== next?.bytes || !next.isHeld) return;
    next.destroyTargets();
    throw new Error("bytes were read over others that were still being written");
  }

  /** Says how much was read, after the bytes were used. That decides where the next read goes. */
  took(length: number, mayBorrow = true): void {
    if (this.#isAside) this.#next = undefined; // `next` is called before the next read
    if (length >= this.#largeBytes) {
      this.#smallReads = 0;
      if (mayBorrow && !this.#isAway && !this.#isClosed) this.#borrow();
    } else if (this.#own && ++this.#smallReads >= smallReadsMax) this.#giveUp();
  }

  /** Writes a part of the last read: a large part from where it lies, and then the place is not free until it was sent. */
  write(target: WriteTarget, bytes: Buffer, from: number, to: number): void {
    const part = bytes.subarray(from, to);
    const own = this.#ownOf(bytes, from, to);
    if (own) own.write(target, part);
    else if (part.length < textBytesMax) target.write(part.toString("latin1"), "latin1");
    else target.write(ownCopy(part));
  }

  /** Keeps a part of the last read for later. */
  keep(bytes: Buffer, from: number, to: number): Kept {
    return this.keepInPlace(bytes, from, to) ?? { bytes: ownCopy(bytes.subarray(from, to)), write: undefined };
  }

  /** As `keep`, but `undefined` if that would be a copy. */
  keepInPlace(bytes: Buffer, from: number, to: number): Kept | undefined {
    const own = this.#ownOf(bytes, from, to);
    if (!own) return undefined;
    const part = bytes.subarray(from, to);
    this.#keepers += 1;
    return { bytes: part, write: (target) => own.write(target, part) };
  }

  /** A kept part was written or dropped. Call it once for each part. */
  unkeep({ write }: Kept): void {
    if (!write) return;
    this.#keepers -= 1;
    if (this.#isAway && this.#keepers === 0) {
      this.#isAway = false;
      this.#loans.giveBack(this.#lentTo);
    }
  }

  /**
   * Earlier writes do not concern the next reader, which reads into another buffer until they were sent: from the next read on,
   * if called while the reader takes bytes.
   */
  moveOn(): void {
    this.#isAside = this.#own?.isHeld ?? false;
  }

  /** The socket is closed. */
  close(): void {
    this.#isClosed = true;
    this.#giveUp();
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#loans.giveBack(this.#lentTo);
  }

  /** The position of a part that is large enough to be written from there. */
  #ownOf(bytes: Buffer, from: number, to: number): OwnBuffer | undefined {
    return bytes === this.#own?.bytes && to - from >= writeAheadBytes ? this.#own : undefined;
  }

  #borrow(): void {
    if (this.#own || !this.#loans.borrow(this.owner)) return;
    this.#lentTo = this.owner;
    this.#own = new OwnBuffer(this.#source);
  }

  #giveUp(): void {
    if (!this.#own) return;
    this.#own = undefined;
    this.#loans.giveBack(this.#lentTo);
  }
}

/** A copy for bytes that may wait or be kept. */
export const ownCopy = (bytes: Buffer): Buffer => joined(noBytes, bytes);

/** A copy of both, in order, for bytes that may wait or be kept. Not from Node's pool, where one byte would hold 64 KiB. */
export function joined(first: Buffer, second: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(first.length + second.length);
  first.copy(copy);
  second.copy(copy, first.length);
  return copy;
}

const noBytes = Buffer.alloc(0);

/** See `ReadPlace.keep`. */
export interface Kept {
  readonly bytes: Buffer;
  /** Writes it from where it lies, in the buffer of the next reads; absent: it is a copy. */
  readonly write: ((target: WriteTarget) => void) | undefined;
}
