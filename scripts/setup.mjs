// Prepares a fresh clone: installs the packages of package-lock.json, and checks that the pinned Node runs. It is plain
// JavaScript because the system's own Node (20 or newer) executes it. scripts/run starts everything after it on the
// pinned Node.
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

/** The inputs of the installation. When they change, it is repeated. */
const wanted = () => {
  const hash = createHash("sha256").update(JSON.stringify({ dependencies, devDependencies }));
  return hash.update(readFileSync(join(root, "package-lock.json"))).digest("hex");
};

const npm = (args) => {
  // npm passes its own path to its child processes. Without it (started by hand), `npm` is on the PATH.
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
  // If npm is configured to skip install scripts, the pinned Node's install script has not run.
  const installer = join(modules, "node", "installArchSpecificPackage.js");
  if (existsSync(installer))
    execFileSync(process.execPath, [installer], { cwd: join(modules, "node"), stdio: "ignore" });
  if (!pinnedNodeRuns()) fail(`the pinned Node (${pinnedVersion}) does not run; remove node_modules and try again`);
}
if (!installed) writeFileSync(stamp, wanted());
