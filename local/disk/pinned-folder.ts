import { constants } from "node:fs";
import { lstat, open, readlink } from "node:fs/promises";

/** O_PATH of Linux (open(2)), which Node does not name: it needs no permission to read the folder. */
const pathOnly = 0x20_0000;
const flags = pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Another folder or a link has taken the place of a folder, or of a folder above it. */
class FolderExchanged extends Error {
  override readonly name = "FolderExchanged";
}

/**
 * Uses a folder by a path that keeps its meaning, whatever a program renames meanwhile: on Linux by an open file descriptor. `path` is
 * absolute and has no symbolic link. Elsewhere the path is looked at just before the use, so a short moment remains.
 *
 * @throws if a link or another folder has taken its place; ENOENT, and ENOTDIR if `path` is no folder.
 */
export async function withFolder<T>(path: Buffer, use: (at: Buffer) => Promise<T>): Promise<T> {
  if (process.platform !== "linux") {
    if (!(await lstat(path)).isDirectory()) throw new FolderExchanged(`${path} is no folder any more`);
    return use(path);
  }
  const folder = await open(path, flags);
  try {
    const at = Buffer.from(`/proc/self/fd/${folder.fd}`);
    if (!(await pathOf(at)).equals(path)) throw new FolderExchanged(`${path} leads to another folder now`);
    return await use(at);
  } finally {
    await folder.close();
  }
}

/** The kernel's own path of an open folder: it differs if a link was followed on the way. */
async function pathOf(at: Buffer): Promise<Buffer> {
  try {
    return await readlink(at, { encoding: "buffer" });
  } catch (cause) {
    // Not the error itself: without /proc it would look as if the folder did not exist.
    throw new Error(`cannot read ${at}`, { cause });
  }
}
