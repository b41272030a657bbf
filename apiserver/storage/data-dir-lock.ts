import { linkSync, readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identityOfProcess, isZombie } from "../../lib/process/process-identity.ts";
import { holdPipe, isPipeHeld, isPipeThere } from "./lock-pipe.ts";

/** Another running process uses the directory. */
export class DataDirInUse extends Error {
  override readonly name = "DataDirInUse";
}

/**
 * Locks a directory until disposed. The lock of a dead process is taken over. It holds on one machine, also between
 * containers that share the directory, but not between machines.
 *
 * @throws DataDirInUse when its owner runs, including this process.
 */
export function lockDataDir(dir: string): Disposable {
  const lock = join(dir, "lock");
  // Whatever became of the lock itself: the kernel knows whether its owner runs.
  refuseHeld(dir, lock);
  removeStale(dir, lock);
  const hasPipe = isPipeThere(pipeOf(lock));
  const identity = ownIdentity(hasPipe);
  create(dir, lock, identity);
  const pipe = hasPipe ? holdAlone(dir, lock, identity) : undefined;
  return {
    [Symbol.dispose]() {
      if (readOwner(lock) === identity) rmSync(lock, { force: true });
      pipe?.[Symbol.dispose]();
    },
  };
}

/**
 * Another process that has read the lock of a dead owner may rename the lock that follows it. So the lock alone does not tell who has the
 * directory. A process that has linked the lock looks first whether another holds the pipe, then holds it, and then looks whether the lock is still its own. Of two
 * processes, the later one to hold the pipe finds it held, or the earlier one finds the lock of the other.
 */
function holdAlone(dir: string, lock: string, identity: string): Disposable | undefined {
  let pipe: Disposable | undefined;
  try {
    refuseHeld(dir, lock);
    pipe = holdPipe(pipeOf(lock));
    if (readOwner(lock) !== identity) throw inUse(dir, lock, readOwner(lock));
    return pipe;
  } catch (error) {
    if (readOwner(lock) === identity) rmSync(lock, { force: true });
    pipe?.[Symbol.dispose]();
    throw error;
  }
}

function refuseHeld(dir: string, lock: string): void {
  if (isPipeHeld(pipeOf(lock))) throw inUse(dir, lock, readOwner(lock));
}

const pipeOf = (lock: string): string => `${lock}.pipe`;

function create(dir: string, lock: string, identity: string): void {
  const own = `${lock}.${process.pid}`;
  try {
    // What a killed process with this id left may be another name of the lock: writing to it would change the lock.
    rmSync(own, { force: true });
    writeFileSync(own, identity);
    if (!tryLink(own, lock)) throw inUse(dir, lock, readOwner(lock));
  } finally {
    rmSync(own, { force: true });
  }
}

/** What a lock says of its owner: the process, and where to find it. */
interface Owner {
  readonly pid: number;
  /** Unique together with the id, within one namespace of processes. */
  readonly startTicks: string | undefined;
  readonly place: string | undefined;
  readonly holdsPipe: boolean;
}

function ownIdentity(holdsPipe: boolean): string {
  const identity = identityOfProcess(process.pid);
  const place = ownPlace();
  if (identity === undefined || place === undefined) return identity ?? String(process.pid);
  return `${identity} ${place} ${holdsPipe ? "pipe" : "no-pipe"}`;
}

function parseOwner(text: string): Owner {
  const [pid, startTicks, place, pipe] = text.split(" ");
  return { pid: Number(pid), startTicks, place, holdsPipe: pipe === "pipe" };
}

/** The boot of the machine and the namespace of processes; undefined without `/proc`. A process id has a meaning only there. */
function ownPlace(): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}/${readlinkSync("/proc/self/ns/pid").replace(/\D/g, "")}`;
  } catch {
    return undefined;
  }
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
  if (owner === undefined) return;
  if (isAlive(parseOwner(owner), lock)) throw inUse(dir, lock, owner);
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

function isAlive(owner: Owner, lock: string): boolean {
  if (!Number.isInteger(owner.pid) || owner.pid <= 0) return false;
  return isElsewhere(owner) ? isAliveElsewhere(owner, lock) : isAliveHere(owner);
}

const isElsewhere = ({ place }: Owner): boolean => place !== undefined && place !== ownPlace();

/** A process that this one cannot see. */
function isAliveElsewhere({ place, holdsPipe }: Owner, lock: string): boolean {
  const isHeld = holdsPipe ? isPipeHeld(pipeOf(lock)) : undefined;
  // Nobody can tell of a process of the same boot in another namespace; of an earlier boot there are no processes.
  return isHeld ?? place?.split("/", 1)[0] === ownPlace()?.split("/", 1)[0];
}

function isAliveHere({ pid, startTicks }: Owner): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process runs, and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  if (isZombie(pid)) return false;
  // Process ids are reused; id and start time together are not.
  const now = identityOfProcess(pid);
  return now === undefined || now === `${pid} ${startTicks}`;
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function inUse(dir: string, lock: string, text: string | undefined): DataDirInUse {
  const owner = text === undefined ? undefined : parseOwner(text);
  const by = owner === undefined ? "another process" : `process ${owner.pid}`;
  const where = owner && isElsewhere(owner) ? " of another container, or of another namespace of processes," : "";
  const remedy = where ? `; if that process does not run any more, remove ${lock}` : "";
  return new DataDirInUse(`cannot use the data directory ${dir}: ${by}${where} uses it${remedy}`);
}
