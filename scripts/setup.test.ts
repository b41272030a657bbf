import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

/** A clone whose `npm` takes a moment, writes down what it does, and installs the Node of this process. */
function cloneWithNpm() {
  const root = mkdtempSync(join(tmpdir(), "rouse-setup-"));
  const journal = join(root, "journal");
  mkdirSync(join(root, "scripts"));
  cpSync(new URL("setup.mjs", import.meta.url), join(root, "scripts/setup.mjs"));
  const dependencies = { node: process.versions.node };
  writeFileSync(join(root, "package.json"), JSON.stringify({ dependencies, devDependencies: {} }));
  writeFileSync(join(root, "package-lock.json"), "{}");
  const npm = join(root, "npm.js");
  writeFileSync(
    npm,
    `const { appendFileSync, mkdirSync, rmSync, symlinkSync } = require("node:fs");
appendFileSync("journal", "begins\\n");
rmSync("node_modules", { recursive: true, force: true });
setTimeout(() => {
  mkdirSync("node_modules/.bin", { recursive: true });
  symlinkSync(${JSON.stringify(process.execPath)}, "node_modules/.bin/node");
  appendFileSync("journal", "ends\\n");
}, 1_000);
`,
  );
  const setup = () => run(process.execPath, [join(root, "scripts/setup.mjs")], { env: { npm_execpath: npm } });
  return {
    setup,
    done: () => readFileSync(journal, "utf8").trim().split("\n"),
    changeLock: () => writeFileSync(join(root, "package-lock.json"), '{"changed":true}'),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

it("several first commands in one clone install the packages once", async () => {
  using clone = cloneWithNpm();
  const said = await Promise.all([clone.setup(), clone.setup(), clone.setup()]);
  expect(clone.done()).toEqual(["begins", "ends"]);
  expect(said.filter(({ stderr }) => stderr.includes("installing packages"))).toHaveLength(1);
  expect(said.filter(({ stderr }) => stderr.includes("waiting for it"))).toHaveLength(2);
});

it("packages are installed again when the lock file has changed, and else not", async () => {
  using clone = cloneWithNpm();
  await clone.setup();
  await clone.setup();
  expect(clone.done()).toHaveLength(2);
  clone.changeLock();
  await clone.setup();
  expect(clone.done()).toHaveLength(4);
});
