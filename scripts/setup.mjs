// Gets a fresh clone ready: installs what package-lock.json names, and makes sure that the Node the repository pins
// really runs. It is plain JavaScript because it is the one file that the system's own Node (20 or newer) executes;
// everything after it runs on the pinned one, which npm finds first because it puts node_modules/.bin on the PATH.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const modules = join(root, "node_modules");
const stamp = join(modules, ".rouse-setup");

const fail = (line) => {
  process.stderr.write(`setup: ${line}\n`);
  process.exit(1);
};

const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Everything the install depends on, and nothing else; when it changes, the install is done again. */
const wanted = () => {
  const hash = createHash("sha256").update(JSON.stringify({ dependencies, devDependencies }));
  return hash.update(readFileSync(join(root, "package-lock.json"))).digest("hex");
};

const npm = (args) => {
  // npm tells its children where it is itself; a bare `npm` is right when this file was started by hand.
  const own = process.env.npm_execpath;
  const [command, first] = own?.endsWith(".js") ? [process.execPath, [own]] : ["npm", []];
  const done = spawnSync(command, [...first, ...args], {
    cwd: root,
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (done.error) fail(`cannot run npm: ${done.error.message}`);
  if (done.status !== 0) fail(`"npm ${args.join(" ")}" failed:\n${done.stderr.trim()}`);
};

const pinnedNode = join(modules, ".bin", process.platform === "win32" ? "node.cmd" : "node");
const pinnedVersion = dependencies.node;

const pinnedNodeRuns = () => {
  if (!existsSync(pinnedNode)) return false;
  const seen = spawnSync(pinnedNode, ["--version"], { encoding: "utf8" });
  return seen.status === 0 && seen.stdout.trim() === `v${pinnedVersion}`;
};

const installed = existsSync(stamp) && readFileSync(stamp, "utf8") === wanted();
if (!installed) {
  process.stderr.write("setup: installing packages (only the first time, or when they changed) ...\n");
  npm(["ci", "--no-audit", "--no-fund"]);
}
if (!pinnedNodeRuns()) {
  // Where npm is told not to run install scripts, the pinned Node's own one has not run.
  const installer = join(modules, "node", "installArchSpecificPackage.js");
  if (existsSync(installer))
    execFileSync(process.execPath, [installer], { cwd: join(modules, "node"), stdio: "ignore" });
  if (!pinnedNodeRuns())
    fail(`the Node this repository pins (${pinnedVersion}) does not run; remove node_modules and try again`);
}
if (!installed) writeFileSync(stamp, wanted());
