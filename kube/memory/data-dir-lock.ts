import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identityOfProcess } from "../../lib/process-identity.ts";

/** Another process that lives keeps its state in the directory. */
export class DataDirInUse extends Error {
  override readonly name = "DataDirInUse";
}

/**
 * Makes a directory ours until disposed of. The lock of a process that is dead is taken over.
 *
 * @throws DataDirInUse when its owner lives, this process included.
 */
export function lockDataDir(dir: string): Disposable {
  const lock = join(dir, "lock");
  const own = `${lock}.${process.pid}`;
  const identity = identityOfProcess(process.pid) ?? String(process.pid);
  writeFileSync(own, identity);
  try {
    // Two tries: one for the lock that is free, one for the lock that was stale.
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

// Linking is the one step of a file system that makes a whole file appear under a name only if nothing has the name.
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
  try {
    renameSync(lock, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return; // its owner left, or another took it away
    throw error;
  }
  // Between the look and the rename another process may have put its own, living lock there.
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
    // EPERM: it lives, and belongs to somebody else.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  // A process id is used again; the id and the start together are not.
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
  return new DataDirInUse(`cannot use the data directory ${dir}: ${by} keeps its state there`);
}
