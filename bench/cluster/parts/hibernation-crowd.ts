import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { recordStates } from "../../state-times.ts";
import { spreadOf, spreadTable } from "../../statistics.ts";
import { type AskedTarget, askOnce, putToSleep } from "../../wake/our-client.ts";
import { sandboxOf, untilCapturable } from "../hibernating-sandboxes.ts";
import type { World } from "../world.ts";

const crowd = 20;
const megabytes = 100;
const userAgent = "bench-hibernation";

/** Many sandboxes captured together, and woken together. */
export async function measureCrowd(world: World, target: AskedTarget, rounds: number): Promise<string> {
  const { client } = world;
  const { namespace } = target;
  const names = Array.from({ length: world.count(crowd) }, (_, at) => `crowd-${at}`);
  const ask = (name: string) => askOnce(target, name, { path: "/", userAgent });
  for (const name of names) {
    await client.create(sandboxType, sandboxOf(namespace, name, { way: "restored", megabytes, hasToken: false }));
  }
  const captured: number[] = [];
  const woken: number[] = [];
  let restored = 0;
  for (let round = 1; round <= rounds; round += 1) {
    world.say(`${names.length} together, round ${round} of ${rounds}`);
    const lives = await Promise.all(names.map(ask));
    captured.push(...(await captureAll(world, namespace, names)));
    const answers = await Promise.all(names.map(ask));
    woken.push(...answers.map(({ firstByteMs, sentMs }) => firstByteMs - sentMs));
    restored += answers.filter(({ body }, at) => body === lives[at]?.body).length;
  }
  return [
    `${names.length} sandboxes of ${megabytes} MB together, ${rounds} times; ${restored} of ${woken.length} were restored:\n`,
    spreadTable([
      ["suspended to captured", spreadOf(captured)],
      ["connection to first byte", spreadOf(woken)],
    ]),
  ].join("\n");
}

/** Suspends all at once, and returns how long each took until its memory was captured. */
async function captureAll(world: World, namespace: string, names: readonly string[]): Promise<readonly number[]> {
  const { client } = world;
  const images = await Promise.all(names.map((name) => untilCapturable(world, namespace, name)));
  const uids = new Set(images.map(({ metadata }) => metadata.uid));
  await using states = await recordStates(client, memoryImageType, namespace, {
    captured: ({ metadata, status }) => uids.has(metadata.uid) && status?.phase === "Captured",
  });
  const startMs = systemClock.ticksMs();
  await Promise.all(names.map((name) => putToSleep(client, { namespace, name })));
  const times = images.map(({ metadata }) => states.at("captured", metadata.name));
  return times.flatMap((ms) => (ms === undefined ? [] : [ms - startMs]));
}
