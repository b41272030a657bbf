import { mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { projectFiles } from "../support/project-files.ts";
import { findMutants } from "./find-mutants.ts";
import { Workbench } from "./workbench.ts";

const root = join(import.meta.dirname, "..", "..");
const text = [
  "export function least(a: number, b: number) {",
  "  if (a > 99) void Promise.reject(a);",
  "  return a < b ? a : b;",
  "}",
  "",
].join("\n");
const test = (assertion: string) =>
  `import { expect, it } from "vitest";\nimport { least } from "./least.ts";\nit("counts", () => { ${assertion} });\n`;

it("faults are tried in a copy, and none affects the tests after it, detected or not", async () => {
  await using project = await mkdtempDisposable(join(tmpdir(), "mutate-test-"));
  const own = {
    "a/least.ts": text,
    "a/least.test.ts": test("expect(least(1, 2)).toBe(1);"),
    "a/strict.test.ts": test("expect(least(99, 100)).toBe(99);"),
    "vitest.config.ts": "export default {};\n",
  };
  const runner = projectFiles(root).filter(
    (file) => /^(lib|test\/mutate)\/[\w-]+\.ts$/.test(file) && !file.endsWith(".test.ts"),
  );
  await mkdir(join(project.path, "a"));
  for (const [file, content] of Object.entries(own)) await writeFile(join(project.path, file), content);
  for (const folder of ["lib", "test"]) await symlink(join(root, folder), join(project.path, folder));
  await symlink(join(root, "node_modules"), join(project.path, "node_modules"));
  using bench = new Workbench(project.path, [...Object.keys(own), ...runner], 60_000);
  const tests = ["a/least.test.ts"];
  const usualMs = (await bench.passesIn(tests)) ?? 0;
  expect(usualMs).toBeGreaterThan(0);
  const mutants = findMutants("a/least.ts", text);
  const outcomeOf = async (by: string, line: number) => {
    const mutant = mutants.find((one) => one.by === by && one.line === line);
    return mutant && bench.try(mutant, tests, usualMs);
  };
  // This one fails by an unhandled rejection.
  expect(await outcomeOf("true", 2)).toBe("killed");
  expect(await outcomeOf("<=", 3)).toBe("survived");
  expect(await outcomeOf(">=", 3)).toBe("killed");
  expect(await bench.passesIn(tests)).toBeGreaterThan(0);
  // The stricter test would detect this one.
  expect(await outcomeOf(">=", 2)).toBe("survived");
  expect(await bench.passesIn(["a/strict.test.ts"])).toBeGreaterThan(0);
}, 120_000);
