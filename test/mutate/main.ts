// Puts deliberate faults into a copy of the project, one at a time, and finds out which of them the tests detect:
// `npm run mutate -- --only=controller/claim --sample=20 --seed=1`.
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { flag, parseFlags, usage } from "../../lib/flags/flags.ts";
import { explain } from "../../lib/guard/explain.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { projectFiles } from "../support/project-files.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { findMutants, type Mutant } from "./find-mutants.ts";
import { importsOf, relatedTests } from "./related-tests.ts";
import { type Attempt, type Outcome, report, type Verdict } from "./report.ts";
import { filesOf, targets } from "./targets.ts";
import { Workbench } from "./workbench.ts";

const flags = {
  only: flag.string("", "targets, separated by commas, such as kube,activator/find; empty: all"),
  sample: flag.integer(0, "number of mutants for each target, chosen by the seed; 0: all"),
  seed: flag.integer(1, "seed of the choice of mutants"),
  tests: flag.integer(4, "maximum number of test files that are run for each mutant, the nearest first"),
  limit: flag.duration(120_000, "time limit for the tests of one mutant; longer ones count as hanging"),
  minutes: flag.float(0, "stop after this many minutes; the next run continues from --state; 0: no limit"),
  state: flag.string(".rouse/mutate.jsonl", "file of verdicts; mutants with one are skipped, and a later line counts"),
  report: flag.string("", "file of the report; empty: standard output"),
};

const root = join(import.meta.dirname, "..", "..");
const say = (text: string) => void process.stderr.write(`${text}\n`);

async function main(): Promise<number> {
  const { values, rest } = parseFlags(flags, process.argv.slice(2));
  const chosen = values.only === "" ? targets : values.only.split(",");
  if (rest.length > 0 || chosen.some((target) => !targets.includes(target))) {
    say(`${usage("npm run mutate --", flags)}\ntargets: ${targets.join(", ")}`);
    return 2;
  }
  const files = projectFiles(root);
  const sources = new Map(
    files.filter((file) => file.endsWith(".ts")).map((file) => [file, readFileSync(join(root, file), "utf8")] as const),
  );
  const imports = new Map([...sources].map(([file, text]) => [file, importsOf(file, text)] as const));
  const known = readVerdicts(values.state);
  const wanted = chosen.flatMap((folder) => {
    const all = filesOf(folder, files).flatMap((file) => findMutants(file, sources.get(file) ?? ""));
    return sampleOf(all, values.sample, values.seed).map((mutant) => ({ folder, mutant }));
  });
  const endMs = values.minutes > 0 ? systemClock.ticksMs() + values.minutes * 60_000 : Number.POSITIVE_INFINITY;
  using bench = new Workbench(root, files, values.limit);
  for (const { folder, mutant } of wanted) {
    if (known.has(mutant.id)) continue;
    if (systemClock.ticksMs() > endMs) break;
    const tests = relatedTests(mutant.file, imports).filter(isQuick).slice(0, values.tests);
    const verdict: Verdict = { folder, mutant, ...(await tryOn(bench, mutant, tests)) };
    known.set(mutant.id, verdict);
    mkdirSync(dirname(values.state), { recursive: true });
    appendFileSync(values.state, `${JSON.stringify(verdict)}\n`);
    say(`${verdict.outcome.padEnd(9)} ${mutant.file}:${mutant.line}`);
  }
  const verdicts = wanted.flatMap(({ mutant }) => known.get(mutant.id) ?? []);
  const how = values.sample === 0 ? "All mutants" : `${values.sample} mutants of each folder, seed ${values.seed}`;
  const day = systemClock.now().toISOString().slice(0, 10);
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
  const tried = `${verdicts.length} of ${wanted.length} mutants were tried by ${day}`;
  const page = report(verdicts, `${how}, of commit ${commit}. ${tried}, each with the ${values.tests} nearest tests.`);
  if (values.report === "") process.stdout.write(page);
  else writeFileSync(values.report, page);
  return 0;
}

/** How long a test file takes without a fault, in milliseconds; undefined if it does not pass by itself. */
const usual = new Map<string, number | undefined>();

/**
 * Tries the tests one after the other, until one detects the fault: it fails with the fault, and then passes without it. Tests
 * that do not pass by themselves are left out.
 */
async function tryOn(bench: Workbench, mutant: Mutant, tests: readonly string[]): Promise<Attempt> {
  let isCovered = false;
  for (const test of tests) {
    if (usual.has(test) && usual.get(test) === undefined) continue;
    const outcome = await tryOne(bench, mutant, test);
    if (outcome === "killed" || outcome === "timedOut") return { outcome, test };
    isCovered ||= outcome === "survived";
  }
  return { outcome: isCovered ? "survived" : "uncovered" };
}

/** `uncovered`: the test does not pass by itself. */
async function tryOne(bench: Workbench, mutant: Mutant, test: string): Promise<Outcome> {
  for (const isFresh of [false, true]) {
    const outcome = await bench.try(mutant, [test], usual.get(test));
    if (outcome === "survived") return outcome;
    const withoutMs = await bench.passesIn([test]);
    if (withoutMs !== undefined) {
      usual.set(test, withoutMs);
      return outcome;
    }
    // A worker in which tests have failed may fail others too.
    bench.renew();
    if (isFresh) usual.set(test, undefined);
  }
  return "uncovered";
}

/** Tests that start whole clusters are too slow for each mutant, and those about the files of the project need its repository. */
const isQuick = (test: string): boolean => !/^test\/((kubernetes|kubectl|soak|ecosystem)\/|[^/]+$)/.test(test);

function readVerdicts(path: string): Map<string, Verdict> {
  const lines = existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  const verdicts = lines.filter((line) => line !== "").map((line): Verdict => JSON.parse(line));
  return new Map(verdicts.map((verdict) => [verdict.mutant.id, verdict]));
}

/** A random order that is the same for the same seed, so that a larger sample contains the smaller one. */
function sampleOf(mutants: readonly Mutant[], size: number, seed: number): readonly Mutant[] {
  if (size === 0) return mutants;
  const random = seededRandom(seed);
  const drawn = mutants.map((mutant) => ({ mutant, place: random.below(2 ** 30) }));
  return drawn
    .sort((a, b) => a.place - b.place)
    .slice(0, size)
    .map(({ mutant }) => mutant);
}

process.exitCode = await main().catch((error: unknown) =>
  explain(error, { name: "mutate", command: "npm run mutate --", flags }, process),
);
