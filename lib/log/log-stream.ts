import { fstatSync, write, writeSync } from "node:fs";
import { Counter, type Registry } from "prom-client";
import { systemClock } from "../time/clock.ts";

/**
 * The limit of unwritten output, in characters. Further lines are dropped: a log without a reader must not fill the
 * memory.
 */
const pendingCharactersMax = 4 * 1_024 * 1_024;
/** Characters of one write. */
const chunkCharacters = 65_536;
/** Milliseconds until the next write to a full pipe: doubling, and the longest. */
const fullPauseMs = 1;
const longestFullPauseMs = 64;
/** Milliseconds until the next write after an error, such as a full disk. */
const errorPauseMs = 1_000;
/** Milliseconds for the remaining output when the process exits. */
const exitLimitMs = 1_000;
const exitPauseMs = 5;

const lineEnd = 0x0a;

/**
 * Writes lines to a file descriptor, in order, and never blocks the program: a stalled reader or a full disk neither
 * ends it, nor blocks it, nor fills its memory. Lines that cannot be written are dropped and counted.
 */
export class LogStream {
  /** Called with the number of dropped lines, once lines can be written again. */
  onRecovered: (lines: number) => void = () => {};
  readonly #fd: number;
  /** Non-blocking writes to pipes and sockets complete at once; writes to files and terminals use a thread. */
  readonly #endsAtOnce: boolean;
  #lines: string[] = [];
  #characters = 0;
  /** The chunk that is being written. */
  #chunk: Buffer | undefined;
  #isWaiting = false;
  /** While a thread writes the chunk: the size of the file after that, or undefined if there is no way to see its end. */
  #inThread: { readonly sizeAfter: number | undefined } | undefined;
  #pauseMs = fullPauseMs;
  /** The last written byte was not the end of a line, and the rest of that line is dropped. */
  #isTorn = false;
  #dropped = 0;
  #reportedDropped = 0;

  constructor(fd: number) {
    this.#fd = fd;
    const kind = fstatSync(fd);
    this.#endsAtOnce = kind.isFIFO() || kind.isSocket();
  }

  /** The number of lines dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Accepts one or more lines, each with its line end. It never throws. */
  write(lines: string): void {
    if (this.#characters + lines.length > pendingCharactersMax) return this.#drop(Buffer.from(lines));
    this.#lines.push(lines);
    this.#characters += lines.length;
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    // The lines of one turn of the event loop are written together.
    setImmediate(() => this.#send());
  }

  /** Writes the remaining output, for a second at most, when the event loop has ended. */
  flushAtExit(): void {
    const endMs = systemClock.ticksMs() + exitLimitMs;
    this.#awaitThread(endMs);
    for (let chunk = this.#take(); chunk; chunk = this.#take()) {
      try {
        this.#written(chunk, writeSync(this.#fd, chunk));
      } catch (error) {
        if (!isFull(error) || systemClock.ticksMs() >= endMs) return;
        pauseThread();
      }
    }
  }

  /** The event loop has ended and reports no end of a write: only the size of a file shows it. */
  #awaitThread(endMs: number): void {
    if (!this.#inThread) return;
    const { sizeAfter = 0 } = this.#inThread;
    while ((fileSize(this.#fd) ?? sizeAfter) < sizeAfter && systemClock.ticksMs() < endMs) pauseThread();
    this.#chunk = undefined;
  }

  #send(): void {
    const chunk = this.#take();
    if (!chunk) {
      this.#isWaiting = false;
    } else if (this.#endsAtOnce) {
      this.#sendAtOnce(chunk);
    } else {
      const size = fileSize(this.#fd);
      this.#inThread = { sizeAfter: size === undefined ? undefined : size + chunk.length };
      write(this.#fd, chunk, (error, bytes) => {
        this.#inThread = undefined;
        if (error) this.#failed(chunk, error);
        else this.#sent(chunk, bytes);
      });
    }
  }

  #sendAtOnce(chunk: Buffer): void {
    let bytes: number;
    try {
      bytes = writeSync(this.#fd, chunk);
    } catch (error) {
      return this.#failed(chunk, error);
    }
    this.#sent(chunk, bytes);
  }

  #sent(chunk: Buffer, bytes: number): void {
    this.#written(chunk, bytes);
    this.#pauseMs = fullPauseMs;
    const lost = this.#dropped - this.#reportedDropped;
    if (lost > 0 && this.#characters < pendingCharactersMax / 2) {
      this.#reportedDropped = this.#dropped;
      this.onRecovered(lost);
    }
    setImmediate(() => this.#send());
  }

  #failed(chunk: Buffer, error: unknown): void {
    if (isFull(error)) {
      this.#sendAfter(this.#pauseMs);
      this.#pauseMs = Math.min(this.#pauseMs * 2, longestFullPauseMs);
      return;
    }
    this.#drop(chunk);
    this.#chunk = undefined;
    this.#isTorn ||= chunk[0] === lineEnd;
    this.#sendAfter(errorPauseMs);
  }

  // The timer does not keep the process alive: remaining output is written at exit.
  #sendAfter(ms: number): void {
    systemClock.after(ms, () => this.#send());
  }

  #take(): Buffer | undefined {
    if (this.#chunk || this.#lines.length === 0) return this.#chunk;
    let count = 0;
    let characters = 0;
    while (count < this.#lines.length && characters < chunkCharacters) characters += this.#lines[count++]?.length ?? 0;
    const text = this.#lines.splice(0, count).join("");
    this.#characters -= characters;
    this.#chunk = Buffer.from(this.#isTorn ? `\n${text}` : text);
    this.#isTorn = false;
    return this.#chunk;
  }

  #written(chunk: Buffer, bytes: number): void {
    this.#chunk = bytes < chunk.length ? chunk.subarray(bytes) : undefined;
    if (bytes > 0) this.#isTorn = this.#chunk !== undefined && chunk[bytes - 1] !== lineEnd;
  }

  /** A part that starts with a line end is the rest of a written line, or the end of a torn one. */
  #drop(lines: Buffer): void {
    for (let at = lines.indexOf(lineEnd, 1); at >= 0; at = lines.indexOf(lineEnd, at + 1)) this.#dropped += 1;
  }
}

/** The reader of a pipe lags. */
const isFull = (error: unknown) => error instanceof Error && "code" in error && error.code === "EAGAIN";

const pauseThread = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, exitPauseMs);

/** Undefined if it is not a file, such as a terminal, or if the system does not know the size. */
function fileSize(fd: number): number | undefined {
  try {
    const state = fstatSync(fd);
    return state.isFile() ? state.size : undefined;
  } catch {
    return undefined;
  }
}

let ofStandardError: LogStream | undefined;

/** The log of this process. */
export function standardErrorLog(): LogStream {
  ofStandardError ??= openStandardError();
  return ofStandardError;
}

function openStandardError(): LogStream {
  // The getter makes a pipe or a socket non-blocking. Node itself writes warnings there.
  process.stderr.on("error", () => {});
  const stream = new LogStream(2);
  process.on("exit", () => stream.flushAtExit());
  return stream;
}

/** Registers `rouse_log_lines_dropped_total`. */
export function countDroppedLines(registry: Registry): void {
  new Counter({
    name: "rouse_log_lines_dropped_total",
    help: "Lines of the log that were dropped, because standard error was full or could not be written.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(ofStandardError?.dropped ?? 0);
    },
  });
}
