import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../../api/kinds/sandbox-warm-pool.ts";
import { waitUntil } from "../../../cluster/wait.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { cpuSeconds } from "../../../test/programs/process-cost.ts";
import { recordStates } from "../../state-times.ts";
import { type Spread, spreadOf, spreadTable } from "../../statistics.ts";
import { type Calls, callsTable, countCalls } from "../api-calls.ts";
import { leadingController } from "../installed-programs.ts";
import { claimNamed, is, poolNamed, templateNamed } from "../objects.ts";
import type { World } from "../world.ts";

const poolSize = 300;
export const steadyPerSecond = 20;
const steadyClaims = 400;
const pool = "warm";
const fullWithinMs = 300_000;

/** The times of a pool and its claims, in milliseconds. */
export interface ClaimFigures {
  readonly size: number;
  /** From the pool's creation until the last of its sandboxes was Ready. */
  readonly filledMs: number;
  /** From the first claim until the last one was Ready, with as many claims as pool members. */
  readonly atOnceMs: number;
  readonly atOnce: Spread;
  /** From then until the status of the pool said that it was full again. */
  readonly refilledMs: number;
  readonly steady: Spread;
  /** The calls for the steady claims, with the refill of the pool. */
  readonly calls: Calls;
  readonly steadyCount: number;
  /** CPU time of the controller for each steady claim. */
  readonly cpuMs: number;
}

/** The measured controller: its process, and the last part of its user name in the audit log. */
export interface ObservedController {
  readonly pid: number;
  readonly user: string;
}

/** Fills a pool, claims all members at once, waits for the refill, and then claims at a steady rate. */
export async function takeClaims(
  world: World,
  namespace: string,
  { pid, user }: ObservedController,
): Promise<ClaimFigures> {
  const size = world.count(poolSize);
  const steadyCount = world.count(steadyClaims);
  const filledMs = await fillPool(world, namespace, size);

  const { lastMs, spread } = await claimAtOnce(world, namespace, size);

  const refilledMs = await untilFull(world, namespace, size);

  const before = cpuSeconds(pid);
  const { spread: steady, calls } = await claimSteadily(world, namespace, steadyCount, user);

  const cpuMs = ((cpuSeconds(pid) - before) * 1_000) / steadyCount;
  return { size, filledMs, atOnceMs: lastMs, atOnce: spread, refilledMs, steady, calls, steadyCount, cpuMs };
}

export async function measureClaims(world: World): Promise<string> {
  await using _nodes = await world.startNodes();
  await using namespace = await world.openNamespace();
  const { pid } = await leadingController(world.client);
  const took = await takeClaims(world, namespace.name, { pid, user: "agent-sandbox-controller" });
  const { size } = took;
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  return [
    "### Claims and warm pools, on kwok nodes\n",
    `The pool of ${size} was full ${seconds(took.filledMs)} after its creation, and again ${seconds(took.refilledMs)} after all of it was claimed.\n`,
    `${size} claims at once were bound within ${seconds(took.atOnceMs)}, ${perSecond(took)} per second.\n`,
    spreadTable([
      [`${size} claims at once, create to Ready`, took.atOnce],
      [`${steadyPerSecond} claims per second, create to Ready`, took.steady],
    ]),
    `At ${steadyPerSecond} claims per second, the refill of the pool included:\n`,
    callsTable(took.calls, took.steadyCount, "claim"),
    `That took the controller ${took.cpuMs.toFixed(1)} ms of CPU time for each claim.\n`,
  ].join("\n");
}

export const perSecond = ({ size, atOnceMs }: ClaimFigures): string => (size / (atOnceMs / 1_000)).toFixed(0);

async function fillPool({ client }: World, namespace: string, size: number): Promise<number> {
  await client.create(sandboxTemplateType, templateNamed(namespace, "t"));
  await using sandboxes = await recordStates(client, sandboxType, namespace, { ready: is("Ready") });
  const startMs = systemClock.ticksMs();
  await client.create(sandboxWarmPoolType, poolNamed(namespace, pool, "t", size));
  await sandboxes.untilReached("ready", size);
  return systemClock.ticksMs() - startMs;
}

async function claimAtOnce({ client }: World, namespace: string, count: number) {
  await using claims = await recordStates(client, sandboxClaimType, namespace, { bound: is("Ready") });
  const names = Array.from({ length: count }, (_, at) => `burst-${at}`);
  const startMs = systemClock.ticksMs();
  await Promise.all(names.map((name) => client.create(sandboxClaimType, claimNamed(namespace, name, pool))));
  await claims.untilReached("bound", count);
  const latencies = names.map((name) => (claims.at("bound", name) ?? Number.NaN) - startMs);
  return { lastMs: Math.max(...latencies), spread: spreadOf(latencies) };
}

/** Milliseconds until the status of the pool says that all members are ready. */
async function untilFull({ client }: World, namespace: string, size: number): Promise<number> {
  const startMs = systemClock.ticksMs();
  const isFull = async () => {
    const { status } = await client.get(sandboxWarmPoolType, { namespace, name: pool });
    return status?.readyReplicas === size;
  };
  await waitUntil(isFull, {
    clock: systemClock,
    limitMs: fullWithinMs,
    complaint: () => "the pool does not fill again",
  });
  return systemClock.ticksMs() - startMs;
}

async function claimSteadily(
  { client, layout }: World,
  namespace: string,
  count: number,
  user: string,
): Promise<{ readonly spread: Spread; readonly calls: Calls }> {
  await using claims = await recordStates(client, sandboxClaimType, namespace, { bound: is("Ready") });
  const calls = countCalls(layout.auditLog, user);
  const asked = new Map<string, number>();
  const startMs = systemClock.ticksMs();
  const under: Promise<unknown>[] = [];
  for (let at = 0; at < count; at += 1) {
    await systemClock.sleep(Math.max(0, startMs + (at * 1_000) / steadyPerSecond - systemClock.ticksMs()));
    const name = `steady-${at}`;
    asked.set(name, systemClock.ticksMs());
    under.push(client.create(sandboxClaimType, claimNamed(namespace, name, pool)));
  }
  await Promise.all(under);
  await claims.untilReached("bound", count);
  await systemClock.sleep(3_000); // the pool refills after the last claim, and events are written after the changes that they report
  const latencies = [...asked].map(([name, ms]) => (claims.at("bound", name) ?? Number.NaN) - ms);
  return { spread: spreadOf(latencies), calls: calls() };
}
