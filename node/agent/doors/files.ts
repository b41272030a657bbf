import { link, mkdir, open, readdir, readFile, rename, rm, rmdir, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** The files of the node. Each change lasts, also over a power cut, once its promise has resolved. */
export class Files {
  /** Makes a folder that only root reads, with its parents. */
  async makeFolder(path: string): Promise<void> {
    const first = await mkdir(path, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let made = path; ; made = dirname(made)) {
      await this.sync(dirname(made));
      if (made === first) return;
    }
  }

  /** Writes a file in one step: a reader sees the old text or the new one. */
  async replace(path: string, text: string): Promise<void> {
    await this.rename(await writeNext(path, text), path);
  }

  /** Writes a new file in one step. @throws an error with the code EEXIST if the file is there. */
  async create(path: string, text: string): Promise<void> {
    const next = await writeNext(path, text);
    try {
      await link(next, path);
    } finally {
      await this.remove(next);
    }
  }

  /** Writes a file that nobody reads yet. Its name lasts from the next change of its folder on. */
  async write(path: string, text: string): Promise<void> {
    await writeSynced(path, text);
  }

  /** Writes a byte to a file, and removes it again. */
  async tryWrite(path: string): Promise<void> {
    try {
      await using file = await open(path, "w", 0o600);
      await file.writeFile(".");
    } finally {
      await rm(path, { force: true });
    }
  }

  /** Both names are in one folder. */
  async rename(from: string, to: string): Promise<void> {
    await rename(from, to);
    await this.sync(dirname(to));
  }

  /** Puts a file in the place of another one, in one step that needs no room on the disk. */
  async move(from: string, to: string): Promise<void> {
    await this.rename(from, to);
    await this.sync(dirname(from));
  }

  /** Gives a file a second name, in one step that needs no room on the disk. @throws an error with the code EEXIST if the name is taken. */
  async link(from: string, to: string): Promise<void> {
    await link(from, to);
    await this.sync(dirname(to));
  }

  /** Removes a file, or a folder with all that it contains. */
  async remove(path: string): Promise<void> {
    await rm(path, { recursive: true, force: true });
    await this.sync(dirname(path)).catch(ignoreMissing);
  }

  /** Removes a folder in which there is nothing. Returns false if there is something, or no such folder. */
  async removeEmptyFolder(path: string): Promise<boolean> {
    const isRemoved = await rmdir(path).then(
      () => true,
      (error: unknown) => ignore(error, [...absent, "ENOTEMPTY", "EEXIST"]) ?? false,
    );
    if (isRemoved) await this.sync(dirname(path)).catch(ignoreMissing);
    return isRemoved;
  }

  /** Writes what the kernel still keeps of a file or a folder to the disk. */
  async sync(path: string): Promise<void> {
    await using handle = await open(path, "r");
    await handle.sync();
  }

  /** Undefined if there is no such file. */
  async read(path: string): Promise<string | undefined> {
    return readFile(path, "utf8").catch(ignoreMissing);
  }

  /** The names in a folder; none if there is no such folder. */
  async list(path: string): Promise<readonly string[]> {
    return (await readdir(path).catch(ignoreMissing)) ?? [];
  }

  async bytesOf(path: string): Promise<number> {
    return (await stat(path).catch(ignoreMissing))?.size ?? 0;
  }

  /** When a file was written last, in milliseconds of wall time. */
  async writtenMs(path: string): Promise<number> {
    return (await stat(path).catch(ignoreMissing))?.mtimeMs ?? 0;
  }

  /** The size of the disk of a folder, in bytes. */
  async diskBytes(path: string): Promise<number> {
    const { blocks, bsize } = await statfs(path);
    return blocks * bsize;
  }

  /** What the disk of a folder has left for anybody, in bytes. */
  async freeBytes(path: string): Promise<number> {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  }
}

/** Writes the text beside a file, where no reader looks, and returns the path. */
async function writeNext(path: string, text: string): Promise<string> {
  // The shim writes the state files of runsc too, and calls its own next text `PATH.new`.
  const next = `${path}.agent.new`;
  try {
    await writeSynced(next, text);
  } catch (error) {
    // A full disk keeps what was begun.
    await rm(next, { force: true });
    throw error;
  }
  return next;
}

const absent: readonly unknown[] = ["ENOENT", "ENOTDIR"];

/** A file may go away between two looks at it. */
function ignoreMissing(error: unknown): undefined {
  return ignore(error, absent);
}

function ignore(error: unknown, codes: readonly unknown[]): undefined {
  if (error instanceof Error && "code" in error && codes.includes(error.code)) return undefined;
  throw error;
}

async function writeSynced(path: string, text: string): Promise<void> {
  await using file = await open(path, "w", 0o600);
  await file.writeFile(text);
  await file.sync();
}
