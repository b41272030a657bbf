import { randomUUID } from "node:crypto";
import { chmod, lstat, opendir, realpath, rename, rmdir, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { mountPoints } from "./mount-points.ts";
import { withFolder } from "./pinned-folder.ts";
import { RemovalBudget, type RemovalLimits, RemovalUnfinished, removalLimits } from "./removal-limits.ts";

/** The parts of a folder that could not be removed. */
export interface Leftover {
  readonly count: number;
  /** The error of the first part; it names the path. */
  readonly error: unknown;
  /** Whether a program may have written too much into the folder meanwhile. Then another try may get further. */
  readonly mayGoOn: boolean;
}

export interface RemovalOptions {
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock;
  readonly limits?: RemovalLimits;
}

/** A program may still write into the folder while it is removed. */
const roundsMax = 3;
/** Linux accepts paths of 4,095 bytes, macOS of 1,023. A name has at most 255. */
const pathBytesMax = 700;
/** Read, write and enter, for the owner. */
const ownerMode = 0o700;

/**
 * Removes a folder with all that a program can leave in it: folders that forbid writing, names that are no text, folders nested
 * deeper than any path may be long, very many files. It follows no symbolic link and enters no mount point. What does not exist
 * counts as removed. It ends at its limits, also while a program writes. Resolves with what could not be removed; undefined:
 * nothing is left.
 *
 * @throws the reason of the signal, and no other error. The rest of the folder stays then.
 */
export async function removeTree(path: string, options: RemovalOptions = {}): Promise<Leftover | undefined> {
  const { signal, clock = systemClock, limits = removalLimits } = options;
  const budget = new RemovalBudget(clock, limits);
  try {
    // The list of mount points has paths without symbolic links.
    const top = Buffer.from(join(await realpath(dirname(path)), basename(path)));
    const removal = new Removal(top, await mountPoints(), budget, signal);
    let left: Leftover | undefined;
    for (let round = 1; round <= roundsMax; round += 1) {
      left = await removal.walk();
      if (!left) return undefined;
    }
    return left;
  } catch (error) {
    signal?.throwIfAborted();
    if (codeOf(error) === "ENOENT") return undefined;
    return { count: 1, error, mayGoOn: error instanceof RemovalUnfinished };
  }
}

interface Folder {
  readonly path: Buffer;
  /** Its entries were visited: only the folder itself is left. */
  readonly visited: boolean;
}

/** Walks through a folder. Paths are bytes, because a name may be no text. */
class Removal {
  readonly #top: Buffer;
  readonly #budget: RemovalBudget;
  readonly #signal: AbortSignal | undefined;
  readonly #folders: Folder[] = [];
  /** In the folder, where they are now: one character for each byte. */
  #mounts: readonly string[];
  #device: number | undefined;
  #left = 0;
  #error: unknown;

  constructor(top: Buffer, mounts: readonly string[], budget: RemovalBudget, signal: AbortSignal | undefined) {
    this.#top = top;
    this.#mounts = mounts.filter((at) => isAtOrBelow(at, top.toString("latin1")));
    this.#budget = budget;
    this.#signal = signal;
  }

  /** Removes what it can in one walk. Resolves with what is left. */
  async walk(): Promise<Leftover | undefined> {
    this.#left = 0;
    this.#error = undefined;
    await this.#try(async () => {
      const found = await lstat(this.#top);
      this.#device = found.dev;
      if (found.isDirectory()) this.#folders.push({ path: this.#top, visited: false });
      else await unlink(this.#top);
    });
    for (let folder = this.#folders.pop(); folder; folder = this.#folders.pop()) {
      const { path, visited } = folder;
      await this.#try(() => (visited ? this.#removeFolder(path) : withFolder(path, (at) => this.#visit(path, at))));
    }
    if (this.#left === 0) return undefined;
    // A folder that is not empty got an entry after the visit.
    return { count: this.#left, error: this.#error, mayGoOn: codeOf(this.#error) === "ENOTEMPTY" };
  }

  /** Removes an empty folder. Nobody but us can rename the top itself. */
  #removeFolder(path: Buffer): Promise<void> {
    if (path.equals(this.#top)) return rmdir(path);
    const slashAt = path.lastIndexOf(slash);
    return withFolder(path.subarray(0, slashAt), (at) => rmdir(below(at, path.subarray(slashAt + 1))));
  }

  /** Removes the files of a folder that is open at `at`, and notes its folders and then itself for later. */
  async #visit(folder: Buffer, at: Buffer): Promise<void> {
    const { mode, dev } = await stat(at);
    // A folder of the same device may be mounted too.
    if (dev !== this.#device || this.#mounts.includes(folder.toString("latin1"))) {
      throw new Error(`${folder} is a mount point`);
    }
    // Another user may own it: then the removal of its entries fails.
    if ((mode & ownerMode) !== ownerMode) await chmod(at, (mode & 0o777) | ownerMode).catch(() => {});
    this.#folders.push({ path: folder, visited: true });
    // Each byte of a name is one character of Latin-1.
    for await (const entry of await opendir(at, { encoding: "latin1" })) {
      const name = Buffer.from(entry.name, "latin1");
      await this.#try(() =>
        entry.isDirectory() ? this.#noteFolder(below(folder, name), below(at, name)) : unlink(below(at, name)),
      );
    }
  }

  /** A path that gets too long starts anew at the top. The new name needs space on the disk, so other folders stay where they are. */
  async #noteFolder(folder: Buffer, at: Buffer): Promise<void> {
    if (folder.length - this.#top.length < pathBytesMax)
      return void this.#folders.push({ path: folder, visited: false });
    // To move a folder, its own mode must permit writing.
    await withFolder(folder, (open) => chmod(open, ownerMode)).catch(() => {});
    const moved = below(this.#top, Buffer.from(randomUUID()));
    await rename(at, moved);
    this.#followMounts(folder.toString("latin1"), moved.toString("latin1"));
    this.#folders.push({ path: moved, visited: false });
  }

  /** What is mounted in a folder moves with it. */
  #followMounts(from: string, to: string): void {
    if (this.#mounts.length === 0) return;
    this.#mounts = this.#mounts.map((at) => (isAtOrBelow(at, from) ? to + at.slice(from.length) : at));
  }

  async #try(step: () => Promise<void>): Promise<void> {
    this.#signal?.throwIfAborted();
    this.#budget.spend();
    try {
      await step();
    } catch (error) {
      this.#signal?.throwIfAborted();
      if (error instanceof RemovalUnfinished) throw error;
      if (codeOf(error) === "ENOENT") return;
      this.#left += 1;
      this.#error ??= error;
    }
  }
}

const slash = Buffer.from("/");

const below = (folder: Buffer, name: Buffer): Buffer => Buffer.concat([folder, slash, name]);

const isAtOrBelow = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException | undefined)?.code;
