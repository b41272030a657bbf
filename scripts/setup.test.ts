import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
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
  cpSync(new URL("run", import.meta.url), join(root, "scripts/run"));
  const npm = join(root, "npm-cli.js");
  writeFileSync(
    npm,
    `#!${process.execPath}
const { appendFileSync, mkdirSync, rmSync, symlinkSync } = require("node:fs");
appendFileSync("journal", "begins\\n");
appendFileSync("arguments", process.argv.slice(2).join(" "));
rmSync("node_modules", { recursive: true, force: true });
setTimeout(() => {
  mkdirSync("node_modules/.bin", { recursive: true });
  symlinkSync(${JSON.stringify(process.execPath)}, "node_modules/.bin/node");
  appendFileSync("journal", "ends\\n");
}, 1_000);
`,
  );
  mkdirSync(join(root, "bin"));
  cpSync(npm, join(root, "bin/npm"));
  chmodSync(join(root, "bin/npm"), 0o755);
  const PATH = [join(root, "bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const setup = (env: Readonly<Record<string, string>> = { npm_execpath: npm }) =>
    run(process.execPath, [join(root, "scripts/setup.mjs")], { env });
  return {
    root,
    PATH,
    setup,
    asked: () => readFileSync(join(root, "arguments"), "utf8"),
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

it("packages for development are installed, by the npm of the machine if yarn starts the setup", async () => {
  using clone = cloneWithNpm();
  await clone.setup({ NODE_ENV: "production", npm_execpath: "/usr/lib/yarn/bin/yarn.js", PATH: clone.PATH });
  expect(clone.asked()).toMatch(/^ci --include=dev /);
});

it("programs run in their clone, also if the shell looks for folders elsewhere", async () => {
  using clone = cloneWithNpm();
  const elsewhere = join(clone.root, "elsewhere");
  mkdirSync(join(elsewhere, "scripts"), { recursive: true });
  const options = { cwd: clone.root, env: { PATH: clone.PATH, CDPATH: elsewhere } };
  const { stdout } = await run("sh", ["scripts/run", "--print", "process.cwd()"], options);
  expect(stdout.trim()).toBe(realpathSync(clone.root));
});
