import { readlinkSync, type Stats, statSync } from "node:fs";
import { opendir } from "node:fs/promises";

/** Which of the files that a process has open are looked for. */
export interface FileSearch {
  /** What is looked for. What was found is kept under this name, so it changes when there may be others. */
  readonly name: string;
  readonly isOne: (path: string) => boolean;
}

interface Found {
  /** Of the process: another one may get its number. */
  readonly startedAt: string;
  readonly againMs: number;
  /** The numbers of the files; undefined: the process has too many open ones to look at each, or they cannot be seen. */
  readonly files: readonly string[] | undefined;
}

/** A Pod decides how many files its sentry has open. */
const mostFiles = 32_768;
/** Files that are looked at in one turn of the event loop: less than 2 ms. */
const filesInOneTurn = 256;
/** What was found, or not, is looked for again so often. */
const againMs = 300_000;
/** More searches than a node has Pods. */
const mostKept = 1_000;
/** Unlike the size of such a file, what it takes. */
const blockBytes = 512;

/** What the open files of processes take. Each is searched for once, and in small parts: a node may have a Pod with a million files. */
export class OpenFiles {
  readonly #folder: string;
  readonly #mostFiles: number;
  readonly #found = new Map<string, Promise<Found>>();

  constructor(folder: string, most = mostFiles) {
    this.#folder = folder;
    this.#mostFiles = most;
  }

  /** Each file counts once. Undefined if it cannot be told. */
  async bytesOf(pid: number, search: FileSearch, now: { readonly startedAt: string; readonly ms: number }) {
    const key = `${pid} ${search.name}`;
    const known = await this.#found.get(key);
    const isCurrent = known?.startedAt === now.startedAt && now.ms < known.againMs;
    const bytes = isCurrent ? this.#bytesOf(pid, known, search) : "changed";
    if (bytes !== "changed") return bytes;
    const searching = this.#search(pid, search).then((files) => ({ ...now, againMs: now.ms + againMs, files }));
    this.#keep(key, searching);
    const found = this.#bytesOf(pid, await searching, search);
    return found === "changed" ? undefined : found;
  }

  #keep(key: string, searching: Promise<Found>): void {
    this.#found.delete(key);
    this.#found.set(key, searching);
    const [oldest] = this.#found.keys();
    if (this.#found.size > mostKept && oldest !== undefined) this.#found.delete(oldest);
  }

  #bytesOf(pid: number, { files }: Found, { isOne }: FileSearch): number | undefined | "changed" {
    if (!files) return undefined;
    const sizes = new Map<string, number>();
    for (const file of files) {
      const stats = this.#statOf(`${this.#folder}/${pid}/fd/${file}`, isOne);
      if (!stats) return "changed";
      sizes.set(`${stats.dev} ${stats.ino}`, stats.blocks * blockBytes);
    }
    return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  async #search(pid: number, { isOne }: FileSearch): Promise<readonly string[] | undefined> {
    const folder = `${this.#folder}/${pid}/fd`;
    const files: string[] = [];
    let looks = 0;
    try {
      for await (const { name } of await opendir(folder, { bufferSize: filesInOneTurn })) {
        looks += 1;
        if (looks > this.#mostFiles) return undefined;
        if (this.#isOne(`${folder}/${name}`, isOne)) files.push(name);
      }
      return files;
    } catch {
      return undefined;
    }
  }

  #statOf(path: string, isOne: FileSearch["isOne"]): Stats | undefined {
    try {
      return isOne(readlinkSync(path)) ? statSync(path) : undefined;
    } catch {
      return undefined;
    }
  }

  /** @throws an error with the code EACCES if this process may not see it. */
  #isOne(path: string, isOne: FileSearch["isOne"]): boolean {
    try {
      return isOne(readlinkSync(path));
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return false; // it was closed
      throw error;
    }
  }
}
