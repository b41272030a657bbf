import { inspect } from "node:util";
import { flag, parseFlags, usage } from "../../lib/flags/flags.ts";
import { explain } from "../../lib/guard/explain.ts";
import { endProcess } from "../../lib/process/lifecycle.ts";
import { faultsOfSchedules, schedulesOfTorture } from "../http1/schedules/run-schedules.ts";
import { Findings } from "./findings.ts";
import { type Kind, kinds } from "./plan.ts";
import { torture } from "./torture.ts";

const flags = {
  seconds: flag.float(600, "for how many seconds clients start new sessions; sessions in progress then finish"),
  seed: flag.integer(1, "seed of the clients, requests, programs and bytes; timing still varies"),
  short: flag.boolean(false, "take half a minute in total, unless --seconds is given"),
  clients: flag.integer(28, "number of clients"),
  without: flag.string("", `kinds of traffic to omit, separated by commas: ${kinds.join(", ")}`),
};

const shortSeconds = 14;
const reportEveryMs = 30_000;

const say = (text: string) => void process.stdout.write(`${text}\n`);
// Exits explicitly, because Node may keep the process for sockets that it lost in a reset.
endProcess(
  await main().catch((error: unknown) =>
    explain(error, { name: "torture", command: "npm run torture --", flags }, process),
  ),
);

async function main(): Promise<number> {
  const { values, given, rest } = parseFlags(flags, process.argv.slice(2));
  const without = values.without.split(",").filter(Boolean);
  const unknown = without.filter((name) => !kinds.some((kind) => kind === name));
  if (rest.length > 0 || unknown.length > 0) {
    say(usage("npm run torture --", flags));
    return 2;
  }
  const { seed, clients } = values;
  // The same seeds as in `npm test` and further ones, whatever the seed of the traffic.
  const failed = await faultsOfSchedules(1, schedulesOfTorture);
  for (const line of failed) say(`schedule with ${line}`);
  say(`${schedulesOfTorture} schedules, ${failed.length} failed`);
  const seconds = values.short && !given.has("seconds") ? shortSeconds : values.seconds;
  const findings = new Findings(seed, say);
  const chosen = new Set<Kind>(kinds.filter((kind) => !without.includes(kind)));
  const reporter = setInterval(() => say(findings.counts()), reportEveryMs);
  try {
    await torture({ seed, clients, findings, kinds: chosen, forMs: seconds * 1_000 });
  } catch (error) {
    say(inspect(error, { depth: 4 }));
    return 1;
  } finally {
    clearInterval(reporter);
  }
  say(findings.counts());
  for (const line of findings.summary()) say(line);
  const isClean = findings.isClean && failed.length === 0;
  say(isClean ? "all bytes were right, and there is no leak" : `FAILED (seed ${seed})`);
  return isClean ? 0 : 1;
}
