import { statfsSync } from "node:fs";

/** The sizes that a compaction depends on, in bytes. */
export interface JournalSize {
  readonly journalBytes: number;
  /** Of the snapshot that the journal follows. */
  readonly snapshotBytes: number;
  /** Of the snapshot that a compaction would write, about. */
  readonly stateBytes: number;
}

// A smaller journal is replayed quickly, and a compaction would pause the server for some milliseconds.
const journalBytesMin = 16 * 1024 * 1024;
// A start reads the whole journal into memory.
const journalBytesMax = 1024 * 1024 * 1024;
// A compaction that gives back less would be repeated too soon.
const givenBackBytesMin = 64 * 1024;
const spareBytes = 1024 * 1024;

/** Whether the journal is so long that a start would be slow. */
export const isLong = ({ journalBytes, snapshotBytes }: JournalSize): boolean =>
  journalBytes >= Math.min(Math.max(journalBytesMin, snapshotBytes * 2), journalBytesMax);

/** Whether a compaction gives back enough, compared with what it writes. */
export const isWorthwhile = (size: JournalSize): boolean =>
  givesBack(size) >= Math.max(givenBackBytesMin, size.stateBytes / 2);

/** Whether a compaction gives back anything. */
export const isOfUse = (size: JournalSize): boolean => givesBack(size) >= givenBackBytesMin;

/** Whether the disk has so little space that a later snapshot may not fit beside the journal. */
export const isScarce = ({ stateBytes }: JournalSize, freeBytes: number): boolean =>
  freeBytes < stateBytes * 2 + spareBytes;

/** Whether the next snapshot fits beside the journal and the last snapshot. */
export const fits = ({ stateBytes }: JournalSize, freeBytes: number): boolean => freeBytes >= stateBytes;

const givesBack = ({ journalBytes, snapshotBytes, stateBytes }: JournalSize): number =>
  journalBytes + snapshotBytes - stateBytes;

/** The free space of the disk of a directory, in bytes; infinite if the system does not tell. */
export function freeBytesAt(directory: string): number {
  try {
    const { blocks, bavail, bsize } = statfsSync(directory);
    return blocks > 0 ? bavail * bsize : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Whether a disk or a quota without space caused this error. */
export function isFullDisk(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT" || isFullDisk(error.cause);
}
