import { randomUUID } from "node:crypto";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { findWake } from "../../cluster/demo/wake-log.ts";
import { release } from "../../cluster/release/install-chart.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { recordStates } from "../state-times.ts";
import { spreadOf, spreadTable } from "../statistics.ts";
import { askInfo, putToSleep } from "../wake/our-client.ts";
import type { WakeTarget } from "../wake/with-k6.ts";
import { type ContainerStarts, followContainerStarts } from "./container-starts.ts";
import type { Segment } from "./picture.ts";
import type { World } from "./world.ts";

/** The steps of one wake, in order: milliseconds since the request was sent. */
interface ColdWake {
  readonly patched: number;
  readonly podCreated: number;
  readonly scheduled: number;
  readonly podSandbox: number;
  readonly container: number;
  readonly listening: number;
  readonly accepted: number;
  readonly firstByte: number;
}

/** The duration of each step, and the program that takes it. */
const spans: readonly (readonly [string, (wake: ColdWake) => number])[] = [
  ["wake patched (activator, API server)", ({ patched }) => patched],
  ["Pod created (controller)", ({ podCreated, patched }) => podCreated - patched],
  ["Pod bound (scheduler)", ({ scheduled, podCreated }) => scheduled - podCreated],
  ["Pod's network (kubelet, containerd)", ({ podSandbox, scheduled }) => podSandbox - scheduled],
  ["container started (kubelet, containerd)", ({ container, podSandbox }) => container - podSandbox],
  ["port open (the program itself)", ({ listening, container }) => listening - container],
  ["port found (activator)", ({ accepted, listening }) => accepted - listening],
  ["first byte (activator, program)", ({ firstByte, accepted }) => firstByte - accepted],
];

export const medianSegments = (wakes: readonly ColdWake[]): readonly Segment[] =>
  spans.map(([name, span]) => ({ name, ms: spreadOf(wakes.map(span)).p50 }));

export const segmentsTable = (wakes: readonly ColdWake[]): string =>
  spreadTable([
    ...spans.map(([name, span]) => [name, spreadOf(wakes.map(span))] as const),
    ["sent to first byte", spreadOf(wakes.map(({ firstByte }) => firstByte))],
  ]);

/** Wakes one sandbox repeatedly, and reports the times by the API server, the container runtime and the program. */
export async function observeWakes(
  world: World,
  target: WakeTarget,
  name: string,
  count: number,
): Promise<readonly ColdWake[]> {
  using starts = await followContainerStarts(world.layout);
  const wakes: ColdWake[] = [];
  for (let at = 0; at < count; at += 1) {
    const wake = await observeWake(world, target, name, starts);
    if (wake) wakes.push(wake);
  }
  if (wakes.length < count / 2) throw new Error(`only ${wakes.length} of ${count} wakes were seen from end to end`);
  return wakes;
}

async function observeWake(
  world: World,
  target: WakeTarget,
  name: string,
  starts: ContainerStarts,
): Promise<ColdWake | undefined> {
  const { client } = world;
  const { namespace } = target;
  await putToSleep(client, { namespace, name });
  await using sandboxes = await recordStates(client, sandboxType, namespace, {
    running: ({ spec }) => spec.operatingMode === "Running",
  });
  await using pods = await recordStates(client, podType, namespace, {
    there: () => true,
    bound: ({ spec }) => spec?.nodeName !== undefined,
  });
  const userAgent = `bench/${randomUUID()}`;
  const sentTicks = systemClock.ticksMs();
  const sentMs = performance.timeOrigin + performance.now();
  const { listeningSinceMs, firstByteMs } = await askInfo(target, name, userAgent);
  await Promise.all([sandboxes.untilReached("running", 1, 5_000), pods.untilReached("bound", 1, 5_000)]);
  const accepted = await portAccepted(world, userAgent);
  const scheduled = (pods.at("bound", name) ?? Number.NaN) - sentTicks;
  const [podSandbox, container] = starts.since(sentMs).map((ms) => ms - sentMs);
  const wake = {
    patched: (sandboxes.at("running", name) ?? Number.NaN) - sentTicks,
    podCreated: (pods.at("there", name) ?? Number.NaN) - sentTicks,
    scheduled,
    podSandbox: podSandbox ?? Number.NaN,
    container: container ?? Number.NaN,
    listening: listeningSinceMs - sentMs,
    accepted,
    firstByte: firstByteMs - sentMs,
  };
  return Object.values(wake).every(Number.isFinite) ? wake : undefined;
}

const logWithinMs = 3_000;

/** When the activator found the port open, by its access log; NaN if the log does not have it. */
async function portAccepted({ kubectl }: World, userAgent: string): Promise<number> {
  const endMs = systemClock.ticksMs() + logWithinMs;
  const args = ["logs", "--selector=app=sandbox-router", `--namespace=${release.namespace}`, "--since=1m", "--tail=-1"];
  while (systemClock.ticksMs() < endMs) {
    const wake = findWake(await kubectl.run(args), userAgent);
    if (wake) return wake.portAccepted ?? Number.NaN;
    await systemClock.sleep(100);
  }
  return Number.NaN;
}
