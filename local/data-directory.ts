import { chmodSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { lockDataDir } from "../apiserver/storage/data-dir-lock.ts";
import { makeFoldersSync } from "../lib/files/make-folders.ts";
import type { Logger } from "../lib/log/log.ts";
import { removeOrWarn } from "./disk/removals.ts";

/** The folder with all data of local mode. Disposing removes it if it is a temporary one. */
export interface DataDirectory extends AsyncDisposable {
  readonly path: string;
}

/** The directory has files, and local mode did not create it. */
export class DataDirectoryRefused extends Error {
  override readonly name = "DataDirectoryRefused";
}

/** Marks a directory as one of local mode: it removes what is left over in its folders. */
const marker = ".rouse-data";

/** Marks a temporary folder that may be removed, once nobody holds its lock. */
export const temporaryMarker = ".rouse-ephemeral";
export const temporaryPrefix = "rouse-";

/**
 * `path` undefined: a temporary folder. Only the owner may enter it: volumes and logs may hold secrets.
 *
 * @throws DataDirectoryRefused for a directory with other files.
 */
export function openDataDirectory(path: string | undefined, log: Logger): DataDirectory {
  if (path === undefined) return openTemporary(log);
  const kept = resolve(path);
  makeFoldersSync(kept, 0o700);
  claim(kept);
  makeOwn(kept);
  return { path: kept, [Symbol.asyncDispose]: async () => {} };
}

function openTemporary(log: Logger): DataDirectory {
  const path = mkdtempSync(join(tmpdir(), temporaryPrefix));
  const lock = lockDataDir(path);
  // After the lock: a process that sees the marker and gets the lock knows that this process has ended.
  writeFileSync(join(path, temporaryMarker), "a temporary folder of local mode, which it removes\n");
  return {
    path,
    async [Symbol.asyncDispose]() {
      await removeOrWarn(path, log);
      lock[Symbol.dispose]();
    },
  };
}

/** A directory that was there before may have a wider mode. That of another user stays as it is. */
function makeOwn(directory: string): void {
  try {
    chmodSync(directory, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

function claim(directory: string): void {
  const file = join(directory, marker);
  if (existsSync(file)) return;
  // Earlier versions set no marker.
  const isEarlier = existsSync(join(directory, "api", "journal"));
  if (!isEarlier && readdirSync(directory).length > 0) {
    throw new DataDirectoryRefused(
      `${directory} has files, and local mode did not create it; choose an empty or a new directory with --data-dir`,
    );
  }
  writeFileSync(file, "local mode keeps its data here, and removes from these folders what it does not need\n");
}
