import type { Doors } from "./doors/doors.ts";

/** What is younger may be of one that is at work. */
const leftAfterMs = 60_000;

/** Removes what shims, or agents that were killed, have left on the node, and which belongs to no image. */
export async function removeLeft({
  clock,
  records,
  sandboxes,
}: Pick<Doors, "clock" | "records" | "sandboxes">): Promise<void> {
  const beforeMs = clock.now().getTime() - leftAfterMs;
  const present = await sandboxes.containerIds();
  await records.removeKilled((container) => !present.has(container), beforeMs);
  await sandboxes.removeUnfinished(beforeMs);
}
