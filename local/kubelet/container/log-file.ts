import { type FileHandle, open } from "node:fs/promises";
import { type LogLine, parseLogLine } from "./log-line.ts";

/** What a read of a log holds at a time. An entry is much shorter. */
export const pieceBytes = 64 * 1024;
const lineEnd = 0x0a;

/** Counts the last lines of a log, from its end on. A part without a line end belongs to the next line. */
export class TailLines {
  #left: number;
  #isLast = true;

  constructor(count: number) {
    this.#left = count;
  }

  /** Whether this entry belongs to them; the entries behind it came first. */
  takes({ partial }: LogLine): boolean {
    if (!partial || this.#isLast) this.#left -= 1;
    this.#isLast = false;
    return this.#left >= 0;
  }
}

/** One file of a log, which is read piece by piece, whole entries alone. It stays readable when it is renamed or removed. */
export class LogFile implements AsyncDisposable {
  /** When it was opened. */
  readonly size: number;
  readonly #file: FileHandle;
  /** Always the end of an entry: what follows may be cut off, if it is not whole. */
  #offset = 0;

  private constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.size = size;
  }

  /** Undefined if there is none. */
  static async open(path: string): Promise<LogFile | undefined> {
    const file = await open(path).catch(() => undefined);
    return file && new LogFile(file, (await file.stat()).size);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  /** The next entries, up to this byte, or the end of the file as it is then. */
  async *pieces(end: number): AsyncGenerator<readonly string[]> {
    for (;;) {
      const bytes = await this.#read(this.#offset, Math.min(end - this.#offset, pieceBytes));
      const whole = bytes.lastIndexOf(lineEnd) + 1;
      if (whole === 0 && bytes.length < pieceBytes) return;
      this.#offset += whole || bytes.length;
      yield bytes.toString("utf8", 0, whole).split("\n").slice(0, -1);
    }
  }

  /** Goes to the first of the last lines that `isShown` takes. Returns whether that is in this file, and not before it. */
  async seekTail(tail: TailLines, isShown: (line: LogLine) => boolean): Promise<boolean> {
    this.#offset = this.size;
    while (this.#offset > 0) {
      const from = Math.max(this.#offset - pieceBytes, 0);
      const bytes = await this.#read(from, this.#offset - from);
      // The first entry may have begun in the piece before; it is read with that one.
      const first = from === 0 ? 0 : bytes.indexOf(lineEnd) + 1;
      let at = bytes.lastIndexOf(lineEnd) + 1;
      if (at <= first) {
        this.#offset = from;
        continue;
      }
      while (at > first) {
        const start = at < 2 ? 0 : bytes.lastIndexOf(lineEnd, at - 2) + 1;
        const line = parseLogLine(bytes.toString("utf8", start, at - 1));
        this.#offset = from + at;
        if (line && isShown(line) && !tail.takes(line)) return true;
        at = start;
      }
      this.#offset = from + first;
    }
    return false;
  }

  async #read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(Math.max(length, 0));
    const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, position);
    return bytes.subarray(0, bytesRead);
  }
}
