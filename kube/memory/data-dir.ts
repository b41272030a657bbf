import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { lockDataDir } from "./data-dir-lock.ts";
import { decodeJournal, encodeCommit, encodeSnapshot, JournalDamaged, replay } from "./journal-records.ts";
import { type Commit, emptyState, type StorageState } from "./storage.ts";

/** Where the state of a server outlives the process. */
export interface DataDir extends Disposable {
  /** What was there when it was opened. */
  readonly state: StorageState;
  /** Undefined when nothing was there. */
  readonly found: boolean;
  /** Writes a commit; it is in the hands of the operating system when this returns, and survives the process. */
  record(commit: Commit): void;
  /** Starts a new journal from the whole state when the old one has grown far beyond it. Call between commits. */
  compactIfDue(state: () => StorageState): void;
}

// Below this a journal is replayed in a blink, and compacting is not worth its pause of some milliseconds.
const journalBytesMin = 16 * 1024 * 1024;

/**
 * Opens a directory for one server. It survives the death of the process at any moment, not the loss of power: nothing
 * is synced.
 *
 * @throws DataDirInUse when another process has it, JournalDamaged when what is there cannot be trusted.
 */
export function openDataDir(dir: string): DataDir {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const lock = lockDataDir(dir);
  try {
    return new JournaledDir(dir, lock);
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

class JournaledDir implements DataDir {
  readonly state: StorageState;
  readonly found: boolean;
  readonly #dir: string;
  readonly #lock: Disposable;
  readonly #journal: number;
  #journalBytes: number;
  #snapshotBytes: number;

  constructor(dir: string, lock: Disposable) {
    this.#dir = dir;
    this.#lock = lock;
    const snapshot = readIfThere(join(dir, "snapshot"));
    const journal = readIfThere(join(dir, "journal"));
    this.found = snapshot !== undefined || (journal?.length ?? 0) > 0;
    const { records, intactBytes } = decodeJournal(journal ?? Buffer.alloc(0));
    this.state = replay(snapshot ? stateOf(snapshot) : emptyState, records);
    this.#snapshotBytes = snapshot?.length ?? 0;
    this.#journalBytes = intactBytes;
    this.#journal = openSync(join(dir, "journal"), journal ? "r+" : "w+", 0o600);
    ftruncateSync(this.#journal, intactBytes);
  }

  record(commit: Commit): void {
    const line = encodeCommit(commit);
    // Written at the end of what is whole: the remains of a write that failed half-way are written over.
    for (let done = 0; done < line.length; ) {
      done += writeSync(this.#journal, line, done, line.length - done, this.#journalBytes + done);
    }
    this.#journalBytes += line.length;
  }

  compactIfDue(state: () => StorageState): void {
    if (this.#journalBytes < Math.max(journalBytesMin, this.#snapshotBytes * 2)) return;
    const bytes = encodeSnapshot(state());
    const next = join(this.#dir, "snapshot.new");
    writeFileSync(next, bytes, { mode: 0o600 });
    renameSync(next, join(this.#dir, "snapshot"));
    // Dying here leaves records that the snapshot has already; replaying skips them by their version.
    ftruncateSync(this.#journal, 0);
    this.#journalBytes = 0;
    this.#snapshotBytes = bytes.length;
  }

  [Symbol.dispose](): void {
    closeSync(this.#journal);
    this.#lock[Symbol.dispose]();
  }
}

function stateOf(snapshot: Buffer): StorageState {
  const [head, ...records] = decodeJournal(snapshot).records;
  if (!head || !("snapshotOf" in head) || head.snapshotOf !== records.length) {
    throw new JournalDamaged("the snapshot is not whole");
  }
  const objects = records.flatMap((record) =>
    "put" in record ? [{ resource: record.resource, object: record.put }] : [],
  );
  return { version: head.version, objects };
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
