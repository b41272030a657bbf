import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { inspect } from "node:util";
import { explain } from "../../lib/guard/explain.ts";
import { parseSoakConfig, type SoakConfig, type Stage, soakFlags } from "./config/config.ts";
import { hibernationFlags, hibernationStage, parseHibernationConfig } from "./config/hibernation-config.ts";
import { openSoakCluster } from "./hibernation/soak-cluster.ts";
import { soakHibernation } from "./hibernation/soak-hibernation.ts";
import { soak } from "./soak.ts";
import { runStuckActivator } from "./stuck-activator.ts";
import { sweep } from "./sweep/sweep.ts";

const say = (text: string) => void process.stdout.write(`${text}\n`);
const [first, ...others] = process.argv.slice(2);
const isOnCluster = first === hibernationStage;
process.exitCode = await (isOnCluster ? mainOnCluster(others) : main()).catch((error: unknown) => {
  const of = isOnCluster ? { words: ` ${hibernationStage}`, flags: hibernationFlags } : { words: "", flags: soakFlags };
  return explain(error, { name: "soak", command: `npm run soak --${of.words}`, flags: of.flags }, process);
});

async function main(): Promise<number> {
  const config = parseSoakConfig(process.argv.slice(2));
  let failed = false;
  for (const stage of config.stages) {
    say(`== ${stage}`);
    const passed = await run(stage, config).catch((error: unknown) => {
      say(inspect(error, { depth: 4 }));
      return false;
    });
    failed = !passed || failed;
  }
  say(failed ? `FAILED (seed ${config.seed})` : "nothing was lost, repeated or left behind");
  return failed ? 1 : 0;
}

/** The stage that needs a cluster with gVisor. */
async function mainOnCluster(args: readonly string[]): Promise<number> {
  const config = parseHibernationConfig(args);
  await using cluster = await openSoakCluster((line) => void process.stderr.write(`${line}\n`));
  const wrong = await soakHibernation({ ...config, cluster, say });
  say(
    wrong.length > 0 ? `FAILED (seed ${config.seed}): ${wrong.length} failures` : "no memory was lost without a word",
  );
  return wrong.length > 0 ? 1 : 0;
}

/** Whether the stage found no fault. */
async function run(stage: Stage, { seed, short, trafficMs }: SoakConfig): Promise<boolean> {
  switch (stage) {
    case "sweep":
      return (await sweep({ say, seed, stepMs: short ? 10 : 1 })).length === 0;
    case "traffic": {
      const size = short
        ? { sandboxes: 40, clients: 12, faultEveryMs: 1_500 }
        : { sandboxes: 200, clients: 24, faultEveryMs: 6_000 };
      // Traffic without faults follows, for half as long.
      return (await soak({ seed, say, forMs: (trafficMs * 2) / 3, ...size })).length === 0;
    }
    case "faults":
      return succeeds(join("node_modules", "vitest", "vitest.mjs"), "run", "--config", "test/soak/vitest.config.ts");
    case "stuck":
      return (await runStuckActivator(say)).length === 0;
    case "model":
      // A gigabyte for each million states.
      return succeeds("--max-old-space-size=12000", join("test", "soak", "explore-model.ts"));
  }
}

async function succeeds(...args: readonly string[]): Promise<boolean> {
  const child = spawn(process.execPath, args, { stdio: "inherit", cwd: join(import.meta.dirname, "..", "..") });
  const [code] = await once(child, "exit");
  return code === 0;
}
