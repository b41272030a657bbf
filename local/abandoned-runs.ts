import { existsSync, lstatSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DataDirInUse, lockDataDir } from "../apiserver/storage/data-dir-lock.ts";
import type { Logger } from "../lib/log/log.ts";
import type { Clock } from "../lib/time/clock.ts";
import { temporaryMarker, temporaryPrefix } from "./data-directory.ts";
import { Removals } from "./disk/removals.ts";
import { ProcessRecords } from "./kubelet/process/process-records.ts";
import { Directories } from "./kubelet/volumes/directories.ts";

/** Each may have hundreds of containers. What is left is ended at later starts. */
const foldersMax = 100;

export interface SweepTools {
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Sweep extends AsyncDisposable {
  /** Resolves when each folder that was found was tried to be removed. */
  readonly removed: Promise<unknown>;
}

/**
 * Ends the processes of ephemeral runs of this user that were killed, and begins to remove their folders: no later run uses such a folder,
 * so nobody else would. A run whose process still runs holds the lock of its folder, and is left alone. It never rejects. Disposing
 * stops the removals.
 */
export async function endAbandonedRuns(tools: SweepTools, parent: string = tmpdir()): Promise<Sweep> {
  const { clock, log } = tools;
  const removals = new Removals(log, clock);
  const locks = new DisposableStack();
  const removed: Promise<void>[] = [];
  let found = 0;
  try {
    for (const folder of await temporaryFolders(parent)) {
      const lock = lockOf(folder);
      if (lock === undefined) continue;
      locks.use(lock);
      if (await endRun(folder, tools)) removed.push(removals.remove(folder));
      found += 1;
      if (found === foldersMax) break;
    }
  } catch (err) {
    log.warn({ err, folder: parent }, "could not end leftover processes of killed runs; retrying at the next start");
  }
  return {
    removed: Promise.all(removed),
    async [Symbol.asyncDispose]() {
      await removals[Symbol.asyncDispose]();
      locks.dispose();
    },
  };
}

/** Folders that ephemeral runs of this user made. */
async function temporaryFolders(parent: string): Promise<readonly string[]> {
  const names = await readdir(parent);
  return names
    .filter((name) => name.startsWith(temporaryPrefix))
    .map((name) => join(parent, name))
    .filter(isOwnRun);
}

function isOwnRun(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && existsSync(join(folder, temporaryMarker));
}

/** The lock of a folder whose run has ended. Undefined if it still runs, or if this is unknown. */
function lockOf(folder: string): Disposable | undefined {
  try {
    return lockDataDir(folder);
  } catch (error) {
    if (error instanceof DataDirInUse || !existsSync(folder)) return undefined; // or another start removes it
    throw error;
  }
}

/** Ends the processes of a run. Returns whether all are gone. */
async function endRun(folder: string, { clock, log }: SweepTools): Promise<boolean> {
  const { processes } = new Directories(folder);
  const records = await ProcessRecords.open(processes);
  const killed = await records.killStrays(clock, log);
  const isOver = (await readdir(processes)).length === 0;
  const outcome = isOver
    ? "its processes have ended; its folder will be removed"
    : "some of its processes cannot be ended; its folder stays until the next start";
  log.warn({ folder, killed }, `an earlier ephemeral run was killed; ${outcome}`);
  return isOver;
}
