import { sandboxType } from "../../../api/sandbox.ts";
import { release } from "../../../cluster/install-chart.ts";
import { systemClock } from "../../../lib/clock.ts";
import { cpuSeconds, residentBytes } from "../../proxy/process-cost.ts";
import { inParallel } from "../in-parallel.ts";
import { type App, leadingController, programsOf } from "../installed-programs.ts";
import { is, sandboxNamed } from "../objects.ts";
import { watchFor } from "../sightings.ts";
import type { World } from "../world.ts";

const sizes = [100, 1_000, 10_000] as const;
/** One in so many is awake and has a Pod. */
const awakeOneIn = 10;
const writers = 32;
const settleMs = 10_000;
const restMs = 15_000;

/** What the two programs weigh, and what the controller does, while so many sandboxes are there and nothing happens. */
export async function measureRest(world: World): Promise<string> {
  const { client } = world;
  await restart(world);
  await using _nodes = await world.startNodes();
  await using namespace = await world.openNamespace();
  await using sandboxes = await watchFor(client, sandboxType, namespace.name, {
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
    await sandboxes.untilSeen("settled", size);
    rows.push(await row(world, size));
  }
  return [
    `### At rest; one sandbox in ${awakeOneIn} is awake\n`,
    "| sandboxes | controller that leads | the other controller | activators | CPU of the leading controller |",
    "| ---: | ---: | ---: | ---: | ---: |",
    ...rows,
    "",
  ].join("\n");
}

/** So that nothing of what was measured before is left in memory. */
async function restart({ kubectl }: World): Promise<void> {
  for (const deployment of ["agent-sandbox-controller", "sandbox-router"]) {
    const rollout = (...args: readonly string[]) =>
      kubectl.run(["rollout", ...args, `deployment/${deployment}`, `--namespace=${release.namespace}`]);
    await rollout("restart");
    await rollout("status", "--timeout=120s");
  }
}

async function row({ client, say }: World, size: number): Promise<string> {
  await systemClock.sleep(settleMs); // what was made has been told of, and garbage been collected
  const { pid } = await leadingController(client);
  const before = cpuSeconds(pid);
  await systemClock.sleep(restMs);
  const cpu = ((cpuSeconds(pid) - before) / (restMs / 1_000)) * 100;
  const weigh = async (app: App) => (await programsOf(client, app)).filter((each) => each.pid !== pid).map(mebibytes);
  const [others, activators] = await Promise.all([weigh("agent-sandbox-controller"), weigh("sandbox-router")]);
  say(`${size} sandboxes: ${mebibytes({ pid })} MiB, ${cpu.toFixed(2)} % of a core`);
  const cells = [mebibytes({ pid }), others.join(" and "), activators.join(" and ")].map((each) => `${each} MiB`);
  return `| ${size.toLocaleString("en")} | ${cells.join(" | ")} | ${cpu.toFixed(2)} % of a core |`;
}

const mebibytes = ({ pid }: { readonly pid: number }) => (residentBytes(pid) / 1024 / 1024).toFixed(0);
