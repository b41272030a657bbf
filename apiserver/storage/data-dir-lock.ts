import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identityOfProcess } from "../../lib/process/process-identity.ts";

/** Another running process uses the directory. */
export class DataDirInUse extends Error {
  override readonly name = "DataDirInUse";
}

/**
 * Locks a directory until disposed. The lock of a dead process is taken over.
 *
 * @throws DataDirInUse when its owner runs, including this process.
 */
export function lockDataDir(dir: string): Disposable {
  const lock = join(dir, "lock");
  const own = `${lock}.${process.pid}`;
  const identity = identityOfProcess(process.pid) ?? String(process.pid);
  try {
    // What a killed process with this id left may be another name of the lock: writing to it would change the lock.
    rmSync(own, { force: true });
    writeFileSync(own, identity);
    // Two attempts: the first for a free lock, the second after the removal of a stale one.
    if (!tryLink(own, lock)) {
      removeStale(dir, lock);
      if (!tryLink(own, lock)) throw inUse(dir, readOwner(lock));
    }
  } finally {
    rmSync(own, { force: true });
  }
  return {
    [Symbol.dispose]() {
      if (readOwner(lock) === identity) rmSync(lock, { force: true });
    },
  };
}

// Linking is the only file system operation that creates a complete file under a name only if the name is free.
function tryLink(own: string, lock: string): boolean {
  try {
    linkSync(own, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function removeStale(dir: string, lock: string): void {
  const owner = readOwner(lock);
  if (owner !== undefined && isAlive(owner)) throw inUse(dir, owner);
  const aside = `${lock}.stale.${process.pid}`;
  // As above: renaming does nothing if both are names of one file.
  rmSync(aside, { force: true });
  try {
    renameSync(lock, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return; // its owner released it, or another process removed it
    throw error;
  }
  // Between the read and the rename another process may have put its own, valid lock there.
  if (readOwner(aside) !== owner) tryLink(aside, lock);
  rmSync(aside, { force: true });
}

const readOwner = (lock: string): string | undefined => readOrNothing(lock)?.trim();

function isAlive(owner: string): boolean {
  const pid = Number(owner.split(" ", 1)[0]);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process runs, and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  // Process ids are reused; id and start time together are not.
  const now = identityOfProcess(pid);
  return now === undefined || now === owner;
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function inUse(dir: string, owner: string | undefined): DataDirInUse {
  const by = owner === undefined ? "another process" : `process ${owner.split(" ", 1)[0]}`;
  return new DataDirInUse(`cannot use the data directory ${dir}: ${by} uses it`);
}
