import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { inspect } from "node:util";
import { flag, parseFlags, usage } from "../../lib/flags/flags.ts";
import { explain } from "../../lib/guard/explain.ts";
import { soak } from "./soak.ts";
import { runStuckActivator } from "./stuck-activator.ts";
import { sweep } from "./sweep.ts";

const stages = ["sweep", "traffic", "faults", "stuck", "model"] as const;
type Stage = (typeof stages)[number];

const flags = {
  minutes: flag.float(10, "duration of random traffic with random faults"),
  seed: flag.integer(1, "seed of the random choices; timing still varies"),
  short: flag.boolean(false, "only traffic and sweep, for half a minute"),
  only: flag.string("", `one of ${stages.join(", ")}; empty: all`),
};

const say = (text: string) => void process.stdout.write(`${text}\n`);
process.exitCode = await main().catch((error: unknown) =>
  explain(error, { name: "soak", command: "npm run soak --", flags }, process),
);

async function main(): Promise<number> {
  const { values, rest } = parseFlags(flags, process.argv.slice(2));
  if (rest.length > 0) {
    say(usage("npm run soak --", flags));
    return 2;
  }
  const usual: readonly Stage[] = values.short ? ["sweep", "traffic"] : stages;
  const chosen = values.only === "" ? usual : usual.filter((stage) => stage === values.only);
  let failed = chosen.length === 0;
  for (const stage of chosen) {
    say(`== ${stage}`);
    const passed = await run(stage, values).catch((error: unknown) => {
      say(inspect(error, { depth: 4 }));
      return false;
    });
    failed = !passed || failed;
  }
  say(failed ? `FAILED (seed ${values.seed})` : "nothing was lost, repeated or left behind");
  return failed ? 1 : 0;
}

interface Values {
  readonly minutes: number;
  readonly seed: number;
  readonly short: boolean;
}

/** Whether the stage found no fault. */
async function run(stage: Stage, { minutes, seed, short }: Values): Promise<boolean> {
  switch (stage) {
    case "sweep":
      return (await sweep({ say, stepMs: short ? 10 : 1 })).length === 0;
    case "traffic": {
      const size = short
        ? { sandboxes: 40, clients: 12, forMs: 10_000, faultEveryMs: 1_500 }
        : { sandboxes: 200, clients: 24, forMs: (minutes * 60_000 * 2) / 3, faultEveryMs: 6_000 };
      return (await soak({ seed, say, ...size })).length === 0;
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
