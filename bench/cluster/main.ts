// `npm run bench:cluster [-- PART...]`: wakes, sandboxes, claims and their memory, on a one-node cluster of this machine.
import { parseArgs } from "node:util";
import { bringUp } from "../../cluster/bring-up.ts";
import { parseClusterConfig } from "../../cluster/config.ts";
import { refuseOtherOwner } from "../../cluster/directory/cluster-directory.ts";
import { layoutOf } from "../../cluster/layout.ts";
import { stayAlive } from "../../lib/process/stay-alive.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { defaultCacheDirectory } from "../../scripts/tools/build-tool.ts";
import { measureClaims } from "./parts/claims.ts";
import { measureHibernation } from "./parts/hibernation.ts";
import { measureLists } from "./parts/lists.ts";
import { measurePeers } from "./parts/peers.ts";
import { measureRest } from "./parts/rest.ts";
import { measureSandboxes } from "./parts/sandboxes.ts";
import { measureWakes } from "./parts/wakes.ts";
import { openWorld, type World } from "./world.ts";

/** In the order in which they are measured: parts that create many objects come last. */
const parts: Readonly<Record<string, (world: World) => Promise<string>>> = {
  wakes: measureWakes,
  sandboxes: measureSandboxes,
  claims: measureClaims,
  peers: measurePeers,
  rest: measureRest,
  lists: measureLists,
};

/** Measured if it is named: it needs gVisor, and its sandboxes are of gigabytes. */
const hibernation = "hibernation";
const named: typeof parts = { ...parts, [hibernation]: measureHibernation };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    // The share of all counts; 0.1 is for a trial of the benchmark itself.
    share: { type: "string", default: "1" },
    nodes: { type: "string", default: "5" },
    // Rounds of the parts that alternate between controllers, or between sizes of sandboxes.
    rounds: { type: "string", default: "" },
  },
});
const unknown = positionals.filter((name) => !(name in named));
if (unknown.length > 0) throw new Error(`there are ${Object.keys(named).join(", ")}, and no ${unknown.join(", ")}`);

const given = { share: Number(values.share), nodes: Number(values.nodes), rounds: Number(values.rounds || "1") };
for (const [name, value] of Object.entries(given)) if (!(value > 0)) throw new Error(`--${name} is a number above 0`);
const sizes = { ...given, rounds: values.rounds === "" ? undefined : given.rounds };

using _alive = stayAlive();
const say = (line: string) => void process.stderr.write(`${line}\n`);
const config = parseClusterConfig(["up", ...(positionals.includes(hibernation) ? ["--gvisor"] : [])], process.env);
await refuseOtherOwner(layoutOf(config.directory));
const builder = { cacheDirectory: defaultCacheDirectory(process.env), environment: process.env, say };
const cluster = await bringUp(config, builder, systemClock);
await using world = await openWorld(cluster, builder, sizes);
for (const [name, measure] of Object.entries(positionals.length > 0 ? named : parts)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const startMs = systemClock.ticksMs();
  process.stdout.write(`${await measure(world)}\n`);
  say(`${name}: ${((systemClock.ticksMs() - startMs) / 1_000).toFixed(0)} s`);
}
