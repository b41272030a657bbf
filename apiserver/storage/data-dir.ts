import { closeSync, ftruncateSync, openSync, renameSync, unlinkSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { makeFoldersSync } from "../../lib/files/make-folders.ts";
import { lockDataDir } from "./data-dir-lock.ts";
import {
  decodeJournal,
  encodeCommit,
  encodeSnapshot,
  JournalDamaged,
  replay,
  snapshotLength,
} from "./journal-records.ts";
import { fits, freeBytesAt, isLong, isOfUse, isScarce, isWorthwhile, type JournalSize } from "./journal-size.ts";
import { readWhole } from "./read-whole.ts";
import { type Commit, emptyState, type StorageState } from "./storage.ts";

/** The stored state of a server. */
export interface DataDir extends Disposable {
  /** The state when it was opened. */
  readonly state: StorageState;
  /** Whether a state existed. */
  readonly found: boolean;
  /**
   * Writes a commit. When it returns, the operating system has the data, which survives the process.
   *
   * @throws the system's error; then nothing of the commit takes space.
   */
  record(commit: Commit): void;
  /**
   * Starts a new journal from the whole state when the old one has grown far beyond it, or the disk will soon be too full for that.
   * Call it between commits.
   */
  compactIfDue(state: () => StorageState): void;
  /** Starts a new journal if that gives space back and is possible. Returns whether it has. Call it between commits. */
  makeRoom(state: () => StorageState): boolean;
}

// Between two looks at the free space of the disk.
const lookEveryBytes = 64 * 1024;

/**
 * Opens a directory for one server. The data survives the death of the process at any moment, but not a power failure:
 * nothing is synced.
 *
 * @throws DataDirInUse when another process has it, JournalDamaged when its content is invalid.
 */
export function openDataDir(dir: string): DataDir {
  makeFoldersSync(dir, 0o700);
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
  #stateBytes: number;
  /** The length of the journal at the last look at the free space. */
  #lookedAtBytes = 0;

  constructor(dir: string, lock: Disposable) {
    this.#dir = dir;
    this.#lock = lock;
    const snapshot = readWhole(join(dir, "snapshot"));
    const journal = readWhole(join(dir, "journal"));
    this.found = snapshot !== undefined || (journal?.length ?? 0) > 0;
    const { state, intactBytes } = replay(snapshot ? stateOf(snapshot) : emptyState, journal ?? Buffer.alloc(0));
    this.state = state;
    this.#snapshotBytes = snapshot?.length ?? 0;
    this.#journalBytes = intactBytes;
    this.#stateBytes = snapshotLength(this.state);
    removeFile(join(dir, "snapshot.new")); // of a process that was killed
    this.#journal = openSync(join(dir, "journal"), journal ? "r+" : "w+", 0o600);
    ftruncateSync(this.#journal, intactBytes);
  }

  record(commit: Commit): void {
    const line = encodeCommit(commit);
    try {
      // Written after the last whole record: the remains of a failed write are overwritten.
      for (let done = 0; done < line.length; ) {
        done += writeSync(this.#journal, line, done, line.length - done, this.#journalBytes + done);
      }
    } catch (error) {
      // The beginning of a record must not take the space that a snapshot needs.
      ftruncateSync(this.#journal, this.#journalBytes);
      throw error;
    }
    this.#journalBytes += line.length;
    this.#stateBytes += growth(commit);
  }

  compactIfDue(state: () => StorageState): void {
    if (isLong(this.#size) || this.#isDiskGettingFull()) this.#compactIfItFits(state);
  }

  makeRoom(state: () => StorageState): boolean {
    return isOfUse(this.#size) && this.#compactIfItFits(state);
  }

  get #size(): JournalSize {
    return { journalBytes: this.#journalBytes, snapshotBytes: this.#snapshotBytes, stateBytes: this.#stateBytes };
  }

  #isDiskGettingFull(): boolean {
    if (this.#journalBytes < this.#lookedAtBytes + lookEveryBytes || !isWorthwhile(this.#size)) return false;
    this.#lookedAtBytes = this.#journalBytes;
    return isScarce(this.#size, freeBytesAt(this.#dir));
  }

  #compactIfItFits(state: () => StorageState): boolean {
    if (!fits(this.#size, freeBytesAt(this.#dir))) return false;
    this.#compact(state());
    return true;
  }

  #compact(state: StorageState): void {
    const bytes = encodeSnapshot(state);
    const next = join(this.#dir, "snapshot.new");
    try {
      writeFileSync(next, bytes, { mode: 0o600 });
      renameSync(next, join(this.#dir, "snapshot"));
    } catch (error) {
      // Part of a snapshot must not take the space that the journal needs.
      removeFile(next);
      throw error;
    }
    // After a crash here the journal has records that the snapshot contains; replay skips them by their version.
    ftruncateSync(this.#journal, 0);
    this.#journalBytes = 0;
    this.#lookedAtBytes = 0;
    this.#snapshotBytes = bytes.length;
    this.#stateBytes = bytes.length;
  }

  [Symbol.dispose](): void {
    closeSync(this.#journal);
    this.#lock[Symbol.dispose]();
  }
}

/** By how many bytes a commit makes the next snapshot longer, about. */
function growth({ type, entry, previous }: Commit): number {
  const before = previous ? Buffer.byteLength(previous.json) + lineOverheadBytes : 0;
  return (type === "DELETED" ? 0 : Buffer.byteLength(entry.json) + lineOverheadBytes) - before;
}

// Of a record, besides its object: checksum, version and collection.
const lineOverheadBytes = 80;

function stateOf(snapshot: Buffer): StorageState {
  const [head, ...records] = decodeJournal(snapshot);
  if (!head || !("snapshotOf" in head) || head.snapshotOf !== records.length) {
    throw new JournalDamaged("the snapshot is incomplete");
  }
  const objects = records.flatMap((record) =>
    "put" in record ? [{ resource: record.resource, object: record.put }] : [],
  );
  return { version: head.version, objects };
}

/** A file that cannot be removed only takes space. */
function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It does not exist, as usual.
  }
}
