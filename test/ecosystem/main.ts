// `npm run test:ecosystem [-- REGEX]`: compares our definitions of the kinds with those of the existing controller, and runs
// its end-to-end tests, as they were published, against ours on the cluster of `npm run cluster`, which it brings up. All of
// them take ten minutes.
import { execFileSync, spawn } from "node:child_process";
import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bringUp } from "../../cluster/bring-up.ts";
import { parseClusterConfig } from "../../cluster/config.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { defaultCacheDirectory, findModule } from "../../scripts/tools/build-tool.ts";
import { compareDefinitions } from "./compare-definitions.ts";
import { endingIn, modulePath, type Suite, suites, testEnvironment } from "./suites.ts";

const [wanted = "^Test"] = process.argv.slice(2);
const say = (line: string) => void process.stderr.write(`${line}\n`);
const repository = join(import.meta.dirname, "..", "..");
const work = mkdtempSync(join(tmpdir(), "rouse-ecosystem-"));
const suiteLimitMs = 1_800_000;

// The version that we compare with.
const source = await findModule("agent-sandbox", modulePath, { environment: process.env });
const differences = compareDefinitions(join(repository, "crds"), join(source, "k8s", "crds"));
for (const difference of differences) say(`FAIL: the definitions differ in ${difference}`);

const builder = { cacheDirectory: defaultCacheDirectory(process.env), environment: process.env, say };
const { layout } = await bringUp(parseClusterConfig([], process.env), builder, systemClock);
let failed = differences.length;
for (const suite of suites) failed += await run(suite, build(suite));
say(failed === 0 ? "all of them passed" : `${failed} failed; everything that they said is in ${work}`);
if (failed === 0) rmSync(work, { recursive: true, force: true });
process.exitCode = failed === 0 ? 0 : 1;

function build({ folder }: Suite): string {
  const program = join(work, `${folder.replaceAll("/", "-")}.test`);
  say(`building ${folder} (the first time it takes minutes) ...`);
  execFileSync("go", ["test", "-c", "-vet=off", "-o", program, `./${folder}`], { cwd: source, stdio: "inherit" });
  return program;
}

/** The number of failed tests of a suite, plus one if the program did not finish. */
async function run({ leftOut }: Suite, program: string): Promise<number> {
  for (const [name, needs] of Object.entries(leftOut)) say(`left out: ${name}, which needs ${needs}`);
  const skipped = Object.keys(leftOut).join("|");
  const flags = [`run=${wanted}`, `skip=${skipped}`, "v", "timeout=25m"].map((flag) => `-test.${flag}`);
  const tests = spawn(program, flags, {
    cwd: work,
    timeout: suiteLimitMs,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      ...testEnvironment,
      KUBECONFIG: layout.kubeconfig("admin"),
      PATH: `${layout.programs}:${process.env["PATH"]}`,
      ARTIFACTS: join(work, "artifacts"),
    },
  });
  const ended = new Promise<number | null>((resolve) => tests.once("close", resolve));
  const log = createWriteStream(`${program}.log`);
  let failures = 0;
  for await (const line of createInterface({ input: tests.stdout })) {
    log.write(`${line}\n`);
    const ending = endingIn(line);
    if (ending) say(ending.text);
    if (ending && !ending.passed) failures += 1;
  }
  log.end();
  const status = await ended;
  return status !== 0 && failures === 0 ? 1 : failures;
}
