import { readlinkSync } from "node:fs";
import { opendir, readFile, readlink, stat } from "node:fs/promises";

/** Which of the files that a process has open are looked for. */
export interface FileSearch {
  /** What is looked for. */
  readonly kind: string;
  /** What was found is looked for again when this changes. */
  readonly state: string;
  readonly hasName: (path: string) => boolean;
  /** Which file a process with such files always has. Without one, not all of them are seen. */
  readonly isNeeded: (path: string) => boolean;
  /** Whether this mount may have it. A tenant may give a file of a volume any name, but not put it on another mount. Rejects if that cannot be told. */
  readonly hasMount: (mount: string, path: string) => Promise<boolean>;
}

interface OpenFile {
  /** The file descriptor. */
  readonly number: string;
  readonly mount: string;
}

interface Found {
  /** Of the process: another one may get its number. */
  readonly startedAt: string;
  readonly state: string;
  readonly againMs: number;
  /** Undefined: there are none, the process has too many open ones to look at each, or they cannot be seen. */
  readonly files: readonly OpenFile[] | undefined;
}

/** A Pod decides how many files its sentry has open. */
const mostFiles = 32_768;
/** A sentry has a few of its own. A Pod may have many open that only have such a name. */
const mostNamed = 1_024;
/** Files whose names are looked at in one turn of the event loop: less than 2 ms. */
const filesInOneTurn = 256;
/** What was found, or not, is looked for again so often. */
const againMs = 300_000;
/** More searches than a node has Pods. */
const mostKept = 1_000;
/** Unlike the size of such a file, what it takes. */
const blockBytes = 512;

/**
 * What the open files of processes take. Each is searched for once, and in small parts: a node may have a Pod with a million files.
 *
 * A sentry has files of volumes open, whose server may never answer. So a file is only asked for its size once its mount says that it is none of
 * them. The kernel tells the path and the mount without the server.
 */
export class OpenFiles {
  readonly #folder: string;
  readonly #mostFiles: number;
  readonly #found = new Map<string, Promise<Found>>();

  constructor(folder: string, most = mostFiles) {
    this.#folder = folder;
    this.#mostFiles = most;
  }

  /** Each file counts once. Undefined if there is none, or it cannot be told. */
  async bytesOf(pid: number, search: FileSearch, now: { readonly startedAt: string; readonly ms: number }) {
    const key = `${pid} ${search.kind}`;
    const known = await this.#found.get(key);
    const isCurrent = known?.startedAt === now.startedAt && known.state === search.state && now.ms < known.againMs;
    const bytes = isCurrent ? await this.#bytesOf(pid, known, search) : "changed";
    if (bytes !== "changed") return bytes;
    const { state } = search;
    const searching = this.#search(pid, search).then((files) => ({ ...now, state, againMs: now.ms + againMs, files }));
    this.#keep(key, searching);
    const found = await this.#bytesOf(pid, await searching, search);
    return found === "changed" ? undefined : found;
  }

  #keep(key: string, searching: Promise<Found>): void {
    this.#found.delete(key);
    this.#found.set(key, searching);
    const [oldest] = this.#found.keys();
    if (this.#found.size > mostKept && oldest !== undefined) this.#found.delete(oldest);
  }

  async #bytesOf(pid: number, { files }: Found, { hasName }: FileSearch): Promise<number | undefined | "changed"> {
    if (!files) return undefined;
    const sizes = new Map<string, number>();
    for (const { mount, number } of files) {
      if ((await this.#mountOf(pid, number).catch(() => undefined)) !== mount) return "changed";
      const path = `${this.#folder}/${pid}/fd/${number}`;
      const stats = await readlink(path)
        .then((now) => (hasName(now) ? stat(path) : undefined))
        .catch(() => undefined);
      if (!stats) return "changed";
      sizes.set(`${stats.dev} ${stats.ino}`, stats.blocks * blockBytes);
    }
    return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  async #search(pid: number, { hasMount, hasName, isNeeded }: FileSearch): Promise<readonly OpenFile[] | undefined> {
    const folder = `${this.#folder}/${pid}/fd`;
    const files: OpenFile[] = [];
    let [looks, named] = [0, 0];
    let hasNeeded = false;
    try {
      for await (const { name: number } of await opendir(folder, { bufferSize: filesInOneTurn })) {
        looks += 1;
        const path = pathIn(`${folder}/${number}`);
        const isNamed = path !== undefined && hasName(path);
        if (isNamed) named += 1;
        if (looks > this.#mostFiles || named > mostNamed) return undefined;
        const mount = isNamed ? await this.#mountOf(pid, number) : undefined;
        if (path === undefined || mount === undefined || !(await hasMount(mount, path))) continue;
        files.push({ number, mount });
        hasNeeded ||= isNeeded(path);
      }
      return hasNeeded ? files : undefined;
    } catch {
      return undefined;
    }
  }

  /** The kernel's number of the mount that an open file is on; undefined if it was closed. Rejects if that cannot be told. */
  async #mountOf(pid: number, number: string): Promise<string | undefined> {
    const text = await readFile(`${this.#folder}/${pid}/fdinfo/${number}`, "utf8").catch(undefinedIfClosed);
    if (text === undefined) return undefined;
    const mount = /^mnt_id:\s*(\d+)$/m.exec(text)?.[1];
    if (mount === undefined) throw new Error("the kernel does not tell the mount of an open file");
    return mount;
  }
}

/** @throws the error, if it does not say that the file was closed. */
function undefinedIfClosed(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
  throw error;
}

/** The path of an open file. @throws an error with the code EACCES if this process may not see it. */
function pathIn(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch (error) {
    return undefinedIfClosed(error);
  }
}
