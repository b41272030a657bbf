import type { Clock } from "../lib/time/clock.ts";

/** A program that works once it has read the objects of its kinds. */
export interface Syncing {
  readonly synced: Promise<unknown>;
}

/** Long for a start, and short for a user who looks at an empty terminal. */
const quietMs = 10_000;

/** Waits for all programs. If that takes long, it tells once which ones are late. */
export async function untilSynced(
  programs: Readonly<Record<string, Syncing>>,
  clock: Clock,
  tell: (late: readonly string[]) => void,
): Promise<void> {
  const late = new Set(Object.keys(programs));
  using _timer = clock.after(quietMs, () => tell([...late]));
  await Promise.all(Object.entries(programs).map(([name, { synced }]) => synced.then(() => late.delete(name))));
}
