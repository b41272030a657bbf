import { abortable } from "../../../lib/process/lifecycle.ts";
import { type ContainerLog, olderLog } from "./container-log.ts";
import { LogFile, TailLines } from "./log-file.ts";
import { type LogLine, parseLogLine } from "./log-line.ts";

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
 * torn by a crash are omitted. It is read as fast as it is taken, in pieces.
 */
export async function* readLog(
  path: string,
  live: ContainerLog | undefined,
  selection: LogSelection,
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (live) await abortable(live.flush(), signal).catch(() => {});
  if (signal.aborted) return;
  await using files = await openBoth(path, live);
  await files.seekTail(selection);
  for await (const entries of files.before()) yield shownText(entries, selection);

  while (selection.follow && live && !signal.aborted) {
    const { change, closed } = live;
    for await (const entries of files.added()) yield shownText(entries, selection);
    if (closed) return;
    await abortable(change, signal).catch(() => {});
  }
}

/** A program that writes very fast may rotate its log during each attempt: then lines are missing or shown twice. */
const attemptsMax = 8;

/** The rotated file and the current one, with no rotation between the two. */
async function openBoth(path: string, live: ContainerLog | undefined): Promise<LogFiles> {
  for (let attempts = 1; ; attempts += 1) {
    const files = new LogFiles(path, live);
    await files.open();
    if (files.isCurrent || attempts === attemptsMax) return files;
    await files[Symbol.asyncDispose]();
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

function shownText(entries: readonly string[], { since, timestamps }: LogSelection): string {
  const shown = entries.map((entry) => {
    const line = parseLogLine(entry);
    if (!line || !isSince(line, since)) return "";
    return `${timestamps ? `${line.time} ` : ""}${line.text}${line.partial ? "" : "\n"}`;
  });
  return shown.join("");
}

const isSince = ({ time }: LogLine, since: string | undefined): boolean => since === undefined || time >= since;

/** The files of a log from one position on, over rotations. */
class LogFiles implements AsyncDisposable {
  readonly #path: string;
  readonly #live: ContainerLog | undefined;
  #rotation = 0;
  #older: LogFile | undefined;
  #current: LogFile | undefined;

  constructor(path: string, live: ContainerLog | undefined) {
    this.#path = path;
    this.#live = live;
  }

  async open(): Promise<void> {
    this.#rotation = this.#rotations;
    this.#older = await LogFile.open(olderLog(this.#path));
    this.#current = await LogFile.open(this.#path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#older?.[Symbol.asyncDispose]();
    await this.#current?.[Symbol.asyncDispose]();
  }

  /** Whether the log was not rotated since its current file was opened. */
  get isCurrent(): boolean {
    return this.#rotation === this.#rotations;
  }

  /** Goes to the first of the last lines, if these are asked for. */
  async seekTail({ tailLines, since }: LogSelection): Promise<void> {
    if (tailLines === undefined) return;
    const tail = new TailLines(tailLines);
    const isShown = (line: LogLine) => isSince(line, since);
    if (await this.#current?.seekTail(tail, isShown)) await this.#closeOlder();
    else await this.#older?.seekTail(tail, isShown);
  }

  /** What was written before this was opened. */
  async *before(): AsyncGenerator<readonly string[]> {
    const older = this.#older;
    if (older) yield* older.pieces(older.size);
    await this.#closeOlder();
    if (this.#current) yield* this.#current.pieces(this.#current.size);
  }

  /** What was added since the last call. */
  async *added(): AsyncGenerator<readonly string[]> {
    if (!this.#current) await this.#reopen();
    yield* this.#rest();
    while (!this.isCurrent) {
      // Nothing more is added to the file now. Several rotations at once have dropped the files between.
      yield* this.#rest();
      await this.#reopen();
      yield* this.#rest();
    }
  }

  async #reopen(): Promise<void> {
    for (let attempts = 1; attempts <= attemptsMax; attempts += 1) {
      await this.#current?.[Symbol.asyncDispose]();
      this.#current = undefined;
      this.#rotation = this.#rotations;
      this.#current = await LogFile.open(this.#path);
      if (this.isCurrent) return;
    }
  }

  async *#rest(): AsyncGenerator<readonly string[]> {
    if (this.#current) yield* this.#current.pieces(Number.POSITIVE_INFINITY);
  }

  async #closeOlder(): Promise<void> {
    const older = this.#older;
    this.#older = undefined;
    await older?.[Symbol.asyncDispose]();
  }

  get #rotations(): number {
    return this.#live?.rotations ?? 0;
  }
}
