import { isFullDisk } from "../apiserver/storage/journal-size.ts";
import { describeFullDisk } from "./messages.ts";

/** The disk of the data directory is full; the message says what to do. */
export class FullDisk extends Error {
  override readonly name = "FullDisk";
}

/** The same error, or for one that a full disk has caused, one that names the directory. `dataDir`: undefined for a temporary folder. */
export function namingTheDisk(error: unknown, dataDir: string | undefined): unknown {
  return isFullDisk(error) ? new FullDisk(describeFullDisk(dataDir), { cause: error }) : error;
}
