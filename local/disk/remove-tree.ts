import { randomUUID } from "node:crypto";
import { chmod, lstat, opendir, rename, rmdir, unlink } from "node:fs/promises";

/** The parts of a folder that could not be removed. */
export interface Leftover {
  readonly count: number;
  /** The error of the first part; it names the path. */
  readonly error: unknown;
}

/** A program may still write into the folder while it is removed. */
const roundsMax = 3;
/** Linux accepts paths of 4,095 bytes, macOS of 1,023. A name has at most 255. */
const pathBytesMax = 700;
/** Read, write and enter, for the owner. */
const ownerMode = 0o700;

/**
 * Removes a folder with all that a program can leave in it: folders that forbid writing, names that are no text, folders nested
 * deeper than any path may be long, very many files. It follows no symbolic link and enters no mounted file system. What does not exist
 * counts as removed. Resolves with what could not be removed; undefined: nothing is left.
 *
 * @throws the reason of the signal, and no other error. The rest of the folder stays then.
 */
export async function removeTree(path: string, signal?: AbortSignal): Promise<Leftover | undefined> {
  const top = Buffer.from(path);
  let leftover: Leftover | undefined;
  for (let round = 1; round <= roundsMax; round += 1) {
    leftover = await new Round(top, signal).remove();
    if (!leftover) return undefined;
  }
  return leftover;
}

interface Folder {
  readonly path: Buffer;
  /** Its entries were visited: only the folder itself is left. */
  readonly visited: boolean;
}

/** One walk through a folder. Paths are bytes, because a name may be no text. */
class Round {
  readonly #top: Buffer;
  readonly #signal: AbortSignal | undefined;
  readonly #folders: Folder[] = [];
  #device: number | undefined;
  #left = 0;
  #error: unknown;

  constructor(top: Buffer, signal: AbortSignal | undefined) {
    this.#top = top;
    this.#signal = signal;
  }

  async remove(): Promise<Leftover | undefined> {
    await this.#try(async () => {
      const found = await lstat(this.#top);
      this.#device = found.dev;
      if (found.isDirectory()) this.#folders.push({ path: this.#top, visited: false });
      else await unlink(this.#top);
    });
    for (let folder = this.#folders.pop(); folder; folder = this.#folders.pop()) {
      const { path, visited } = folder;
      await this.#try(() => (visited ? rmdir(path) : this.#visit(path)));
    }
    return this.#left === 0 ? undefined : { count: this.#left, error: this.#error };
  }

  /** Removes the files of a folder, and notes its folders and then itself for later. */
  async #visit(folder: Buffer): Promise<void> {
    const { mode, dev } = await lstat(folder);
    if (dev !== this.#device) throw new Error(`${folder} is a mounted file system`);
    // Another user may own it: then the removal of its entries fails.
    if ((mode & ownerMode) !== ownerMode) await chmod(folder, (mode & 0o777) | ownerMode).catch(() => {});
    this.#folders.push({ path: folder, visited: true });
    // Each byte of a name is one character of Latin-1.
    for await (const entry of await opendir(folder, { encoding: "latin1" })) {
      this.#signal?.throwIfAborted();
      const path = below(folder, Buffer.from(entry.name, "latin1"));
      await this.#try(() => (entry.isDirectory() ? this.#noteFolder(path) : unlink(path)));
    }
  }

  /** A path that gets too long starts anew at the top. The new name needs space on the disk, so other folders stay where they are. */
  async #noteFolder(folder: Buffer): Promise<void> {
    if (folder.length - this.#top.length < pathBytesMax)
      return void this.#folders.push({ path: folder, visited: false });
    // To move a folder, its own mode must permit writing.
    await chmod(folder, ownerMode).catch(() => {});
    const moved = below(this.#top, Buffer.from(randomUUID()));
    await rename(folder, moved);
    this.#folders.push({ path: moved, visited: false });
  }

  async #try(step: () => Promise<void>): Promise<void> {
    this.#signal?.throwIfAborted();
    try {
      await step();
    } catch (error) {
      this.#signal?.throwIfAborted();
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      this.#left += 1;
      this.#error ??= error;
    }
  }
}

const slash = Buffer.from("/");

const below = (folder: Buffer, name: Buffer): Buffer => Buffer.concat([folder, slash, name]);
