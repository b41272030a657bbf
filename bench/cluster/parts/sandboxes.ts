import { podType } from "../../../api/kinds/core.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { inParallel } from "../../in-parallel.ts";
import { recordStates } from "../../state-times.ts";
import { type Spread, spreadOf, spreadTable } from "../../statistics.ts";
import { type Calls, callsTable, countCalls } from "../api-calls.ts";
import { is, isPodReady, sandboxNamed } from "../objects.ts";
import type { World } from "../world.ts";

const single = 200;
const crowd = 500;
const writers = 32;

/** One sandbox after the other, then many at once: created, suspended, and resumed by `operatingMode`. */
export async function measureSandboxes(world: World): Promise<string> {
  await using _nodes = await world.startNodes();
  return ["### Sandboxes, on kwok nodes\n", await oneByOne(world), await manyAtOnce(world)].join("\n");
}

/** The times of sandboxes that were created one after the other, in milliseconds, and the calls for all of them. */
export interface SingleFigures {
  readonly count: number;
  readonly toPod: Spread;
  readonly toPodReady: Spread;
  readonly toReady: Spread;
  readonly calls: Calls;
}

export async function takeSingles(world: World, user?: string): Promise<SingleFigures> {
  const { client } = world;
  await using namespace = await world.openNamespace();
  await using sandboxes = await recordStates(client, sandboxType, namespace.name, {
    ready: is("Ready"),
    asleep: is("Suspended"),
  });
  await using pods = await recordStates(client, podType, namespace.name, { there: () => true, ready: isPodReady });
  const count = world.count(single);
  const times: { toPod: number; toPodReady: number; toReady: number }[] = [];
  const calls = countCalls(world.layout.auditLog, user);
  for (let at = 0; at < count; at += 1) {
    const name = `single-${at}`;
    const startMs = systemClock.ticksMs();
    await client.create(sandboxType, sandboxNamed(namespace.name, name));
    await sandboxes.untilReached("ready", at + 1);
    await pods.untilReached("ready", at + 1);
    const since = (ms: number | undefined) => (ms ?? Number.NaN) - startMs;
    times.push({
      toPod: since(pods.at("there", name)),
      toPodReady: since(pods.at("ready", name)),
      toReady: since(sandboxes.at("ready", name)),
    });
  }
  await systemClock.sleep(1_000); // events are written after the changes that they report
  return {
    count,
    toPod: spreadOf(times.map(({ toPod }) => toPod)),
    toPodReady: spreadOf(times.map(({ toPodReady }) => toPodReady)),
    toReady: spreadOf(times.map(({ toReady }) => toReady)),
    calls: calls(),
  };
}

async function oneByOne(world: World): Promise<string> {
  const { count, toPod, toPodReady, toReady, calls } = await takeSingles(world);
  return [
    `${count} sandboxes, one after the other:\n`,
    spreadTable([
      ["create to Pod", toPod],
      ["create to Pod Ready", toPodReady],
      ["create to Ready", toReady],
    ]),
    callsTable(calls, count, "sandbox"),
  ].join("\n");
}

async function manyAtOnce(world: World): Promise<string> {
  const { client } = world;
  await using namespace = await world.openNamespace();
  const count = world.count(crowd);
  const names = Array.from({ length: count }, (_, at) => `crowd-${at}`);
  const mode = (operatingMode: "Running" | "Suspended") =>
    inParallel(names, writers, (name) =>
      client.patch(
        sandboxType,
        { namespace: namespace.name, name },
        { type: "merge", body: { spec: { operatingMode } } },
      ),
    );
  const rows: string[] = [];
  const measure = async (what: string, state: "ready" | "asleep", work: () => Promise<unknown>) => {
    await using sandboxes = await recordStates(client, sandboxType, namespace.name, {
      ready: is("Ready"),
      asleep: is("Suspended"),
    });
    const startMs = systemClock.ticksMs();
    const [askedMs] = await Promise.all([
      work().then(() => systemClock.ticksMs() - startMs),
      sandboxes.untilReached(state, count),
    ]);
    const seconds = (systemClock.ticksMs() - startMs) / 1_000;
    rows.push(
      `| ${what} | ${(askedMs / 1_000).toFixed(1)} s | ${seconds.toFixed(1)} s | ${(count / seconds).toFixed(0)} |`,
    );
  };
  await measure("created, to Ready", "ready", () =>
    inParallel(names, writers, (name) => client.create(sandboxType, sandboxNamed(namespace.name, name))),
  );
  await measure("suspended, to Suspended", "asleep", () => mode("Suspended"));
  await measure("woken, to Ready", "ready", () => mode("Running"));
  return [
    `${count} sandboxes at once:\n`,
    "| | requested within | all done after | per second |",
    "| --- | ---: | ---: | ---: |",
    ...rows,
    "",
  ].join("\n");
}
