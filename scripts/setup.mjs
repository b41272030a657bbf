// Prepares a fresh clone: installs the packages of package-lock.json, and checks that the pinned Node runs. It is plain
// JavaScript because the system's own Node (20 or newer) executes it. scripts/run starts everything after it on the
// pinned Node.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
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
  // npm passes its own path to its child processes, and so do yarn and pnpm. Started by them or by hand, `npm` is on the PATH.
  const own = process.env.npm_execpath ?? "";
  const [command, first] = basename(own) === "npm-cli.js" ? [process.execPath, [own]] : ["npm", []];
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

const isInstalled = () => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted();

/** Other commands wait at most this number of milliseconds for the one that installs. */
const lockMaxMs = 15 * 60_000;

/**
 * Of several first commands in one clone, one installs: `npm ci` would remove the packages that another one uses. The kernel ends the lock
 * with its process. Only Linux has names of sockets that are no files; elsewhere there is no lock.
 */
const takeLock = async () => {
  if (process.platform !== "linux") return undefined;
  const name = `\0rouse-setup-${createHash("sha256").update(root).digest("hex")}`;
  const startedMs = performance.now();
  for (let isTold = false; ; isTold = true) {
    // Those that wait are connected until this process ends.
    const server = createServer((socket) => socket.on("error", () => {}).unref()).listen(name);
    try {
      await once(server, "listening");
      return server;
    } catch (error) {
      if (error.code !== "EADDRINUSE") throw error;
    }
    const leftMs = lockMaxMs - (performance.now() - startedMs);
    if (leftMs <= 0) fail("another command has been installing packages for 15 minutes; end it and try again");
    if (!isTold) process.stderr.write("setup: another command installs packages; waiting for it ...\n");
    const owner = connect(name).resume();
    await Promise.race([once(owner, "close").catch(() => {}), setTimeout(leftMs, undefined, { ref: false })]);
    owner.destroy();
  }
};

const install = () => {
  if (!isInstalled()) {
    process.stderr.write("setup: installing packages (only the first time, or when they changed) ...\n");
    // Else npm leaves the packages for development out, if NODE_ENV or its settings say so. Everything here needs them.
    npm(["ci", "--include=dev", "--no-audit", "--no-fund"]);
  }
  if (!pinnedNodeRuns()) {
    // If npm is configured to skip install scripts, the pinned Node's install script has not run.
    const installer = join(modules, "node", "installArchSpecificPackage.js");
    if (existsSync(installer))
      execFileSync(process.execPath, [installer], { cwd: join(modules, "node"), stdio: "ignore" });
    if (!pinnedNodeRuns()) fail(`the pinned Node (${pinnedVersion}) does not run; remove node_modules and try again`);
  }
  if (!isInstalled()) writeFileSync(stamp, wanted());
};

if (!isInstalled() || !pinnedNodeRuns()) {
  const lock = await takeLock();
  install();
  lock?.close();
}
