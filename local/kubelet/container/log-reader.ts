import { type FileHandle, open, readFile } from "node:fs/promises";
import { abortable } from "../../../lib/process/lifecycle.ts";
import { type ContainerLog, olderLog } from "./container-log.ts";
import { parseLogLine } from "./log-line.ts";

/** A selection of lines of a log, and their format. */
export interface LogSelection {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  /** RFC 3339 in UTC: omit earlier lines. */
  readonly since: string | undefined;
}

/**
 * The content of a log file, followed by later writes of `live` until that is closed, if the log is followed. Entries
 * torn by a crash are omitted.
 */
export async function* readLog(
  path: string,
  live: ContainerLog | undefined,
  selection: LogSelection,
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (live) await abortable(live.flush(), signal).catch(() => {});
  if (signal.aborted) return;
  const { older, ...opened } = await openBoth(path, live);
  await using tail = opened.tail;
  const entries = [...older.split("\n").slice(0, -1), ...(await tail.read())];
  const lines = entries.flatMap((entry) => shownLine(entry, selection));
  yield* selection.tailLines === undefined ? lines : lastLines(lines, selection.tailLines);

  while (selection.follow && live && !signal.aborted) {
    const { change, closed } = live;
    for (const entry of await tail.read()) yield* shownLine(entry, selection);
    if (closed) return;
    await abortable(change, signal).catch(() => {});
  }
}

/** A program that writes very fast may rotate its log during each attempt: then lines are missing or shown twice. */
const attemptsMax = 8;

/** The rotated file and the live one, with no rotation between the two. */
async function openBoth(path: string, live: ContainerLog | undefined) {
  for (let attempts = 1; ; attempts += 1) {
    const tail = new LogTail(path, live);
    const older = await readFile(olderLog(path), "utf8").catch(() => "");
    if ((await tail.open()) || attempts === attemptsMax) return { older, tail };
    await tail[Symbol.asyncDispose]();
  }
}

/** Ends a stream of texts after `max` bytes of UTF-8. */
export async function* limitBytes(texts: AsyncIterable<string>, max: number | undefined): AsyncGenerator<Uint8Array> {
  let leftBytes = max ?? Number.POSITIVE_INFINITY;
  for await (const text of texts) {
    const bytes = Buffer.from(text);
    if (bytes.length > 0) yield bytes.length > leftBytes ? bytes.subarray(0, leftBytes) : bytes;
    leftBytes -= bytes.length;
    if (leftBytes <= 0) return;
  }
}

function shownLine(entry: string, { since, timestamps }: LogSelection): readonly string[] {
  const line = parseLogLine(entry);
  if (!line || (since !== undefined && line.time < since)) return [];
  return [`${timestamps ? `${line.time} ` : ""}${line.text}${line.partial ? "" : "\n"}`];
}

/** The last lines. A part without a line end belongs to the next line. */
function lastLines(texts: readonly string[], count: number): readonly string[] {
  let left = count;
  let first = texts.length;
  while (first > 0) {
    const before = texts[first - 1] ?? "";
    if (before.endsWith("\n") || first === texts.length) left -= 1;
    if (left < 0) break;
    first -= 1;
  }
  return texts.slice(first);
}

/** Continues to read from the last position, also after a rotation. */
class LogTail implements AsyncDisposable {
  readonly #path: string;
  readonly #live: ContainerLog | undefined;
  #file: FileHandle | undefined;
  #rotation = 0;
  #offset = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(path: string, live: ContainerLog | undefined) {
    this.#path = path;
    this.#live = live;
    this.#rotation = live?.rotations ?? 0;
  }

  /** Opens the file. Returns false if it was rotated since this was created. */
  async open(): Promise<boolean> {
    this.#file ??= await open(this.#path).catch(() => undefined);
    return this.#rotation === (this.#live?.rotations ?? 0);
  }

  /** The whole entries that were added since the last call. */
  async read(): Promise<readonly string[]> {
    const entries = await this.#readFile();
    const rotations = this.#live?.rotations ?? 0;
    if (rotations === this.#rotation) return entries;
    // The rotated file was just read to its end. Several rotations at once have dropped the files between.
    await this.#file?.close();
    this.#file = undefined;
    this.#offset = 0;
    this.#rotation = rotations;
    return [...entries, ...(await this.#readFile())];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close();
  }

  async #readFile(): Promise<readonly string[]> {
    this.#file ??= await open(this.#path).catch(() => undefined);
    if (!this.#file) return [];
    const { size } = await this.#file.stat();
    const chunk = Buffer.alloc(Math.max(size - this.#offset, 0));
    const { bytesRead } = await this.#file.read(chunk, 0, chunk.length, this.#offset);
    this.#offset += bytesRead;
    const bytes = Buffer.concat([this.#rest, chunk.subarray(0, bytesRead)]);
    const end = bytes.lastIndexOf(0x0a) + 1;
    this.#rest = Buffer.from(bytes.subarray(end));
    return bytes.toString("utf8", 0, end).split("\n").slice(0, -1);
  }
}
