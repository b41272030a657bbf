// Runs sets of tests for `workbench.ts`, which forks it, one set for each message, until its parent exits.
import { createVitest } from "vitest/node";
import type { TestResult, TestRun } from "./workbench.ts";

const quiet = { onInit() {} };
const vitest = await createVitest("test", { watch: false, reporters: [quiet], maxWorkers: 1, retry: 0 });
await vitest.standalone();

/** The file that the tests before had with a fault; it is without one again. */
let former = "";

/** Runs one file after the other, until one fails. */
async function run({ changed, tests }: TestRun): Promise<TestResult> {
  for (const file of [former, changed]) if (file !== "") vitest.invalidateFile(file);
  former = changed;
  for (const test of tests) {
    const specifications = await vitest.globTestSpecifications([test]);
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications, false);
    const ran = testModules.length > 0 && testModules.every((module) => module.state() === "passed");
    if (!ran || unhandledErrors.length > 0) return "failed";
  }
  return "passed";
}

process.on("message", async (message: TestRun) => {
  const result = await run(message).catch(() => "failed" as const);
  process.send?.(result);
});
process.on("disconnect", () => process.exit());
