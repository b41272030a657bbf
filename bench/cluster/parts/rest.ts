import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { cpuSeconds, residentBytes } from "../../../test/programs/process-cost.ts";
import { inParallel } from "../../in-parallel.ts";
import { recordStates } from "../../state-times.ts";
import { until } from "../../until.ts";
import { countCalls } from "../api-calls.ts";
import { type App, leadingController, programsOf } from "../installed-programs.ts";
import { is, sandboxNamed } from "../objects.ts";
import type { World } from "../world.ts";

const sizes = [100, 1_000, 10_000] as const;
/** One sandbox in this number is awake and has a Pod. */
const awakeOneIn = 10;
const writers = 32;
const settleLimitMs = 1_200_000;
/** Watches have reported all created objects within this time. */
const settleMs = 10_000;
const restMs = 30_000;
const apps = ["agent-sandbox-controller", "sandbox-router"] as const;

/** The memory, CPU time and API calls of the two programs with many idle sandboxes. */
export async function measureRest(world: World): Promise<string> {
  const { client } = world;
  await restart(world);
  await using _nodes = await world.startNodes();
  await using namespace = await world.openNamespace();
  await using sandboxes = await recordStates(client, sandboxType, namespace.name, {
    settled: (sandbox) => is(sandbox.spec.operatingMode === "Running" ? "Ready" : "Suspended")(sandbox),
  });
  const rows = [await row(world, 0)];
  let made = 0;
  for (const size of sizes.map((each) => world.count(each))) {
    const names = Array.from({ length: size - made }, (_, at) => made + at);
    await inParallel(names, writers, (at) => {
      const operatingMode = at % awakeOneIn === 0 ? "Running" : "Suspended";
      return client.create(sandboxType, sandboxNamed(namespace.name, `resting-${at}`, { operatingMode }));
    });
    made = size;
    await sandboxes.untilReached("settled", size, settleLimitMs);
    rows.push(await row(world, size));
  }
  return [
    `### At rest; one sandbox in ${awakeOneIn} is awake\n`,
    "Resident memory and CPU time in a minute of each process, and the API calls of all in half a minute, watches and leases apart:\n",
    "| sandboxes | controller that leads | the other controller | activators | API calls |",
    "| ---: | ---: | ---: | ---: | ---: |",
    ...rows,
    "",
  ].join("\n");
}

/** Restarts both programs, so that earlier parts leave nothing in their memory. */
async function restart({ kubectl }: World): Promise<void> {
  for (const deployment of ["agent-sandbox-controller", "sandbox-router"]) {
    const rollout = (...args: readonly string[]) =>
      kubectl.run(["rollout", ...args, `deployment/${deployment}`, `--namespace=${release.namespace}`]);
    await rollout("restart");
    await rollout("status", "--timeout=120s");
  }
}

/**
 * Waits until the API server has converted all changes to `v1alpha1`. The webhook converts them one call after the other, so
 * after many changes it lags behind.
 */
async function untilConverted({ kubectl }: World): Promise<void> {
  let before: string | undefined;
  await until(async () => {
    const page = await kubectl.run(["get", "--raw", "/metrics"]);
    const calls = (page.match(/^apiserver_conversion_webhook_request_total.*$/gm) ?? []).join();
    const isOver = calls === before;
    before = calls;
    return isOver;
  }, settleMs);
}

async function row(world: World, size: number): Promise<string> {
  const { client, layout, say } = world;
  await untilConverted(world);
  const { pid } = await leadingController(client);
  const controllers = [pid, ...(await pidsOf(client, "agent-sandbox-controller")).filter((each) => each !== pid)];
  const activators = await pidsOf(client, "sandbox-router");
  const counts = apps.map((app) => countCalls(layout.auditLog, app));
  const before = [...controllers, ...activators].map(cpuSeconds);
  await systemClock.sleep(restMs);
  const cpu = [...controllers, ...activators].map((each, at) => {
    const usedSeconds = cpuSeconds(each) - (before[at] ?? 0);
    return `${((usedSeconds * 1_000) / (restMs / 60_000)).toFixed(0)}`;
  });
  const calls = counts.flatMap((count) => [...count()]);
  const memory = [...controllers, ...activators].map(mebibytes);
  const both = memory.map((each, at) => `${each} MiB, ${cpu[at]} ms`);
  const groups = [both.slice(0, 1), both.slice(1, controllers.length), both.slice(controllers.length)];
  const callsSum = calls.reduce((sum, [, count]) => sum + count, 0);
  say(`${size} sandboxes: ${groups.map((each) => each.join(" and ")).join("; ")}; ${callsSum} calls`);
  for (const [words, count] of calls) say(`  ${words}: ${count}`);
  return `| ${size.toLocaleString("en")} | ${groups.map((each) => each.join("; ")).join(" | ")} | ${callsSum} |`;
}

const pidsOf = async (client: KubeClient, app: App) => (await programsOf(client, app)).map(({ pid }) => pid);
const mebibytes = (pid: number) => (residentBytes(pid) / 1024 / 1024).toFixed(0);
