import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { makeFolders } from "../../../lib/files/make-folders.ts";
import { guarded, runGuarded } from "../../../lib/guard/guard.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { EntryCutter } from "./entry-cutter.ts";
import type { LogStream } from "./log-line.ts";
import { OutputTurns } from "./output-turns.ts";

/** A log file is rotated at this size, and the previous rotated file is removed. The kubelet's default size. */
const logFileBytesMax = 10 * 1024 * 1024;
// A program that writes faster than the disk is blocked at this size.
const pendingBytesMax = 256 * 1024;
// And at this size of output that is not cut into lines yet.
const inputBytesMax = 64 * 1024;
/** What is cut in one piece of work. */
const pieceBytes = 8 * 1024;
// The time to wait for a program's output after its end.
const strangersMs = 1_000;

/** The path of the rotated log. */
export const olderLog = (path: string): string => `${path}.older`;

const outputTurns = new OutputTurns();

/** Output that is not cut into lines yet, or something to do once all output before it is cut. */
type Input = { readonly cutter: EntryCutter; readonly bytes: Buffer } | { readonly then: () => void };

/** Writes the output of one run of a container. A log that cannot be written never stops the program. */
export class ContainerLog {
  readonly path: string;
  readonly #clock: Clock;
  readonly #bytesMax: number;
  readonly #sources = new Set<Readable>();
  readonly #ended: Promise<void>[] = [];
  readonly #input: Input[] = [];
  #inputBytes = 0;
  #isCutting = false;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #pumping: Promise<void> | undefined;
  /** Resolves when the batch that is being written is in the file. */
  #writing: Promise<void> | undefined;
  #file: FileHandle | undefined;
  #fileBytes = 0;
  #rotations = 0;
  #closed = false;
  #change = Promise.withResolvers<void>();

  constructor(path: string, clock: Clock, bytesMax: number = logFileBytesMax) {
    this.path = path;
    this.#clock = clock;
    this.#bytesMax = bytesMax;
  }

  /** The number of rotations: a reader that sees it change must open the new file. */
  get rotations(): number {
    return this.#rotations;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Resolves at the next write, or when the log is closed. To miss nothing, get it before reading. */
  get change(): Promise<void> {
    return this.#change.promise;
  }

  attach(source: Readable, stream: LogStream): void {
    const cutter = new EntryCutter(stream);
    this.#sources.add(source);
    this.#ended.push(
      new Promise((resolve) => {
        source.on(
          "data",
          guarded("kubelet", (bytes: Buffer) => this.#take({ cutter, bytes })),
        );
        source.on("error", () => {}); // "close" follows
        source.once("close", () => {
          this.#sources.delete(source);
          const then = () => {
            runGuarded("kubelet", () => this.#append(cutter.end(this.#clock.now().toISOString())));
            resolve();
          };
          this.#take({ then });
        });
      }),
    );
  }

  /** Resolves when all output so far can be read from the file. It does not wait for later output, of which there may be ever more. */
  async flush(): Promise<void> {
    if (this.#input.length > 0) await new Promise<void>((then) => this.#take({ then }));
    const isPending = this.#pending.length > 0;
    await this.#writing;
    // What was pending is the next batch.
    if (isPending) await this.#writing;
  }

  /** Waits until the program's output has ended and is written. */
  async close(): Promise<void> {
    // A process that left the group may keep the pipe open for ever.
    using limit = this.#clock.after(strangersMs, () => {
      for (const source of this.#sources) source.destroy();
    });
    await Promise.all(this.#ended);
    limit.cancel();
    await this.#pumping;
    this.#closed = true;
    await this.#file?.close().catch(() => {});
    this.#notify();
  }

  #take(input: Input): void {
    this.#input.push(input);
    if ("bytes" in input) this.#inputBytes += input.bytes.length;
    if (!this.#mayRead) for (const source of this.#sources) source.pause();
    this.#cutOn();
  }

  get #mayRead(): boolean {
    return this.#inputBytes <= inputBytesMax && this.#pendingBytes <= pendingBytesMax;
  }

  /** Cuts the next piece in a later turn of the event loop, unless the disk is behind. */
  #cutOn(): void {
    if (this.#isCutting || this.#input.length === 0 || this.#pendingBytes > pendingBytesMax) return;
    this.#isCutting = true;
    outputTurns.add(this.path, () => {
      this.#isCutting = false;
      this.#cutPiece();
      this.#cutOn();
      this.#readOn();
    });
  }

  #cutPiece(): void {
    const input = this.#input.shift();
    if (!input) return;
    if ("then" in input) return input.then();
    const { cutter, bytes } = input;
    const piece = bytes.subarray(0, pieceBytes);
    this.#inputBytes -= piece.length;
    if (piece.length < bytes.length) this.#input.unshift({ cutter, bytes: bytes.subarray(pieceBytes) });
    this.#append(cutter.cut(piece, this.#clock.now().toISOString()));
  }

  #readOn(): void {
    if (this.#mayRead) for (const source of this.#sources) source.resume();
  }

  #append(entries: Buffer): void {
    if (entries.length === 0) return;
    this.#pending.push(entries);
    this.#pendingBytes += entries.length;
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = undefined;
    });
  }

  async #pump(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = Buffer.concat(this.#pending);
      this.#pending = [];
      this.#pendingBytes = 0;
      // A full disk loses lines, but does not stop the program.
      this.#writing = this.#write(batch).catch(() => {});
      await this.#writing;
      this.#notify();
      this.#cutOn();
      this.#readOn();
    }
  }

  async #write(batch: Buffer): Promise<void> {
    if (this.#file && this.#fileBytes + batch.length > this.#bytesMax) await this.#rotate(this.#file);
    this.#file ??= await this.#open();
    try {
      await this.#file.appendFile(batch);
    } catch (error) {
      await this.#cutToWholeEntries(this.#file, batch);
      throw error;
    }
    this.#fileBytes += batch.length;
  }

  async #open(): Promise<FileHandle> {
    const file = await openForAppending(this.path);
    this.#fileBytes = (await file.stat()).size;
    return file;
  }

  /** A full disk may have taken a part of the batch. The next entry must not be glued to half of another. */
  async #cutToWholeEntries(file: FileHandle, batch: Buffer): Promise<void> {
    const { size } = await file.stat();
    const written = batch.subarray(0, Math.max(size - this.#fileBytes, 0));
    this.#fileBytes += written.lastIndexOf(0x0a) + 1;
    if (this.#fileBytes < size) await file.truncate(this.#fileBytes);
  }

  async #rotate(file: FileHandle): Promise<void> {
    this.#file = undefined;
    await file.close();
    await rename(this.path, olderLog(this.path));
    this.#fileBytes = 0;
    this.#rotations += 1;
  }

  #notify(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/** Removes a log and its rotated part. If this fails, they are removed with their Pod. */
export async function removeLog(path: string): Promise<void> {
  const files = [path, olderLog(path)];
  await Promise.all(files.map((file) => rm(file, { force: true }).catch(() => {})));
}

async function openForAppending(path: string): Promise<FileHandle> {
  await makeFolders(dirname(path));
  return open(path, "a", 0o600);
}
