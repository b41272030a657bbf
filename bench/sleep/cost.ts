import { systemClock } from "../../lib/time/clock.ts";
import { ask, stopAsking } from "./ask.ts";
import type { Program } from "./programs.ts";
import { openSleepWorld, type SleepWorld } from "./world.ts";

/** Longer than this benchmark takes. */
const timeoutSeconds = 3_600;
/** Until watches have reported all created objects, and garbage was collected. */
const settleMs = 20_000;
const restMs = 20_000;
const activeMs = 30_000;

interface Cost {
  readonly residentMebibytes: number;
  /** Of one core. */
  readonly cpuPercent: number;
  readonly apiCalls: number;
}

/** The cost of `sandboxes` sandboxes with inactivity suspension for each program, unused and in use. */
export async function measureCost(sandboxes: number, rate: number): Promise<string> {
  await using world = await openSleepWorld();
  const empty = await during(world, pause(restMs));
  const names = Array.from({ length: sandboxes }, (_, at) => `many-${at}`);
  await world.create(names, timeoutSeconds);
  await pause(settleMs);
  const atRest = await during(world, pause(restMs));
  const active = await during(world, useThem(world, names, rate));
  stopAsking();
  return [
    `### ${sandboxes.toLocaleString("en")} sandboxes with autoSuspension, all awake\n`,
    "| | memory, MiB | CPU, % of a core | API calls per second |",
    "| --- | ---: | ---: | ---: |",
    ...rows("no sandbox", empty, restMs),
    ...rows("at rest", atRest, restMs),
    ...rows(`${rate} requests per second`, active, activeMs),
    "",
  ].join("\n");
}

type Costs = Readonly<Record<"controller" | "activator", Cost>>;

/** The cost of the controller and of the first activator meanwhile. */
async function during(
  { controller, activators: [activator] }: SleepWorld,
  happening: Promise<unknown>,
): Promise<Costs> {
  if (!activator) throw new Error("there is no activator");
  const programs = { controller, activator };
  const before = { controller: await readCost(controller), activator: await readCost(activator) };
  await happening;
  const cost = async (name: keyof Costs): Promise<Cost> => {
    const { cpuSeconds, apiCalls, ms } = await readCost(programs[name]);
    const seconds = (ms - before[name].ms) / 1_000;
    return {
      residentMebibytes: programs[name].residentBytes() / 2 ** 20,
      cpuPercent: ((cpuSeconds - before[name].cpuSeconds) / seconds) * 100,
      apiCalls: apiCalls - before[name].apiCalls,
    };
  };
  return { controller: await cost("controller"), activator: await cost("activator") };
}

async function readCost(program: Program) {
  return { ms: systemClock.ticksMs(), cpuSeconds: program.cpuSeconds(), apiCalls: await program.apiCalls() };
}

/** Sends `rate` requests a second to all sandboxes in turn, through both activators. */
async function useThem({ activators }: SleepWorld, names: readonly string[], rate: number): Promise<void> {
  const beganMs = systemClock.ticksMs();
  const under = new Set<Promise<unknown>>();
  for (let asked = 0; systemClock.ticksMs() - beganMs < activeMs; ) {
    const due = ((systemClock.ticksMs() - beganMs) / 1_000) * rate;
    for (; asked < due; asked += 1) {
      const by = activators[asked % activators.length];
      const name = names[asked % names.length];
      if (!by || name === undefined) throw new Error("there is no activator or no sandbox");
      const one = ask(by, name);
      under.add(one);
      void one.finally(() => under.delete(one)).catch(() => {});
    }
    await pause(10);
  }
  await Promise.all(under);
}

function rows(what: string, costs: Costs, ms: number): readonly string[] {
  return (["controller", "activator"] as const).map((name) => {
    const { residentMebibytes, cpuPercent, apiCalls } = costs[name];
    const cells = [residentMebibytes.toFixed(0), cpuPercent.toFixed(1), (apiCalls / (ms / 1_000)).toFixed(2)];
    return `| ${what}: ${name} | ${cells.join(" | ")} |`;
  });
}

const pause = (ms: number) => systemClock.sleep(ms);
