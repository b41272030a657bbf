import type { Clock } from "../../../lib/time/clock.ts";
import type { Files } from "../doors/files.ts";
import { lookMs } from "./bounds.ts";

export interface LateWriteParts {
  readonly clock: Clock;
  readonly files: Pick<Files, "freeBytes">;
  readonly storeRoot: string;
  readonly minFreeBytes: number;
  readonly promisedBytes: number;
  /** What the sentry has written of the image by now. */
  readonly writtenBytes: () => Promise<number>;
  /** Ends the sentry. */
  readonly end: () => Promise<void>;
}

/**
 * Watches the disk until gVisor lets a Pod go on. A capture that has failed may still be written: its file has no name any more, and takes
 * room all the same. It ends if it takes more than it promised.
 */
export async function watchLateWrite(thawed: Promise<unknown>, parts: LateWriteParts): Promise<void> {
  const { clock, end, files, minFreeBytes, promisedBytes, storeRoot, writtenBytes } = parts;
  const over = new AbortController();
  const ended = thawed.then(
    () => over.abort(),
    () => over.abort(),
  );
  while (!over.signal.aborted) {
    await clock.sleep(lookMs, over.signal).catch(() => {});
    if (over.signal.aborted) break;
    const freeBytes = await files.freeBytes(storeRoot).catch(() => Number.POSITIVE_INFINITY);
    if (freeBytes < minFreeBytes && (await writtenBytes()) > promisedBytes) await end();
  }
  await ended;
}
