import type { Socket } from "node:net";
import type { Duplex, Readable, Writable } from "node:stream";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { bytesOf } from "./bytes.ts";

/** How fast one side reads. */
export interface Pace {
  /** The time before it reads anything. */
  readonly waitMs: number;
  readonly bytesPerTick: number;
  readonly tickMs: number;
}

/** How one side writes. */
export interface Sending {
  readonly pieceBytes: number;
  /** The time between two pieces; 0: as fast as possible. */
  readonly everyMs: number;
}

export const atOnce: Pace = { waitMs: 0, bytesPerTick: Number.POSITIVE_INFINITY, tickMs: 0 };

/**
 * Reads a socket or a stream no faster than its pace. Unread data fills the kernel's buffers or the window, and then the buffers of the sender. Returns a function
 * that sets the pace of what comes next.
 */
export function readAtPace(socket: Readable, first: Pace): (pace: Pace) => void {
  let pace = first;
  let allowed = 0;
  const pauseFor = (ms: number) => {
    socket.pause();
    setTimeout(() => socket.resume(), ms);
  };
  const set = (next: Pace) => {
    pace = next;
    allowed = next.bytesPerTick;
    if (next.waitMs > 0) pauseFor(next.waitMs);
  };
  socket.on("data", (bytes: Buffer) => {
    allowed -= bytes.length;
    if (allowed > 0) return;
    const ticks = Math.max(1, Math.ceil(-allowed / pace.bytesPerTick));
    allowed += ticks * pace.bytesPerTick;
    pauseFor(ticks * pace.tickMs);
  });
  set(first);
  return set;
}

const piecesInOneTurn = 64;

/** The time limit of a handshake and of the first head, set by `--headers-timeout`. */
export const handshakeSeconds = 10;

/**
 * Whether a client could not speak before the activator's limit, by its own clock: its process stood still on a busy machine. The
 * activator counts from a later moment, so a client that was in time here is in time there. `ready`: the event after which it speaks.
 */
export function watchLateness(socket: Socket, ready: "connect" | "secureConnect"): () => boolean {
  const startedMs = performance.now();
  let readyMs: number | undefined;
  const note = () => {
    readyMs ??= performance.now();
  };
  socket.once(ready, note).once("close", note);
  return () => (readyMs ?? performance.now()) - startedMs >= handshakeSeconds * 1_000;
}

export interface Pouring {
  readonly stream: number;
  readonly from: number;
  readonly to: number;
  readonly sending: Sending;
  /** Adds the framing of the body to a piece. */
  readonly wrap?: (piece: Buffer) => Buffer;
}

/** Writes a part of a stream; resolves with whether all of it could be written. */
export async function pour(socket: Writable, { stream, from, to, sending, wrap }: Pouring): Promise<boolean> {
  let pieces = 0;
  for (let at = from; at < to; ) {
    if (!socket.writable) return false;
    const end = Math.min(to, at + sending.pieceBytes);
    const piece = bytesOf(stream, at, end);
    const takesMore = socket.write(wrap ? wrap(piece) : piece);
    at = end;
    pieces += 1;
    if (!takesMore) await drained(socket);
    else if (pieces % piecesInOneTurn === 0) await turn();
    if (sending.everyMs > 0 && at < to) await delay(sending.everyMs);
  }
  return socket.writable;
}

/** Resolves when the socket takes more, or is closed. */
export function drained(socket: Writable): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      socket.off("drain", over).off("close", over).off("error", over);
      resolve();
    };
    if (socket.destroyed || !socket.writableNeedDrain) return resolve();
    socket.on("drain", over).on("close", over).on("error", over);
  });
}

/** Resets a connection. Node loses a socket that is reset while it ends, so such a socket is closed instead. */
export function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

export const closed = (socket: Duplex): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });

/** How a socket has ended: by a FIN, otherwise, or not yet. */
export type Ending = "open" | "ended" | "broken";

/** Records how a socket ends. The first event counts: an error after an end is no failure. */
export function watchEnding(socket: Duplex): { readonly ending: Ending } {
  const seen: { ending: Ending } = { ending: "open" };
  const note = (ending: Ending) => {
    if (seen.ending === "open") seen.ending = ending;
  };
  socket.once("end", () => note("ended")).on("error", () => note("broken"));
  socket.once("close", () => note("broken"));
  return seen;
}
