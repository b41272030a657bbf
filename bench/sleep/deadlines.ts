import { systemClock } from "../../lib/time/clock.ts";
import { spreadOf, spreadTable } from "../statistics.ts";
import { ask, stopAsking } from "./ask.ts";
import { openSleepWorld, type SleepWorld } from "./world.ts";

/** Longer than it takes to create all sandboxes and to use each once. */
const timeoutSeconds = 20;
/** The time between two deadlines that come one after the other. */
const stepMs = 50;
const patienceMs = 60_000;

/** From the idle deadline until the Pod is gone: deadlines one after the other, and all of them at once. */
export async function measureDeadlines(count: number): Promise<string> {
  await using world = await openSleepWorld();
  const spread = await measure(world, named("one", count), stepMs);
  const together = await measure(world, named("all", count), 0);
  stopAsking();
  return [
    `### From the deadline until the Pod is gone, ${count} sandboxes\n`,
    spreadTable([
      [`one deadline every ${stepMs} ms`, spreadOf(spread)],
      ["all deadlines at once", spreadOf(together)],
    ]),
  ].join("\n");
}

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

async function measure(world: SleepWorld, names: readonly string[], everyMs: number): Promise<readonly number[]> {
  const { activators, node } = world;
  await world.create(names, timeoutSeconds);
  const deadlines = new Map<string, number>();
  const asked: Promise<unknown>[] = [];
  for (const [index, name] of names.entries()) {
    const by = activators[index % activators.length] ?? activators[0];
    if (by) asked.push(ask(by, name).then((ms) => deadlines.set(name, ms + timeoutSeconds * 1_000)));
    if (everyMs > 0) await pause(everyMs);
  }
  await Promise.all(asked);
  const limitMs = systemClock.ticksMs() + patienceMs;
  while (names.some((name) => !node.goneMs.has(name)) && systemClock.ticksMs() < limitMs) await pause(50);
  return names
    .map((name) => (node.goneMs.get(name) ?? Number.NaN) - (deadlines.get(name) ?? Number.NaN))
    .filter(Number.isFinite);
}

const pause = (ms: number) => systemClock.sleep(ms);
