import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { identityOfProcess, isZombie } from "../lib/process/process-identity.ts";
import type { Clock } from "../lib/time/clock.ts";
import { commandEnvironment } from "./command.ts";
import type { Layout } from "./layout.ts";
import { componentsFile } from "./machine/cgroup.ts";

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
}

/** A component that runs in the background and outlives the program that started it. */
export interface Daemon {
  readonly pid: number;
  /** False: it was running already, started by the same command. */
  readonly isNew: boolean;
}

/** Enters the cluster's cgroup and then executes the component, with the same process id. */
const enterAndBecome = 'echo $$ > "$0" && exec "$@"';

/**
 * Starts a component unless it runs already. It is restarted if its command or its settings have changed. `settings` is
 * the content of all files that it reads at its start.
 */
export async function ensureDaemon(
  name: string,
  { program, args }: Command,
  options: { readonly layout: Layout; readonly clock: Clock; readonly settings: string },
): Promise<Daemon> {
  const { layout, clock, settings } = options;
  const command = createHash("sha256")
    .update(JSON.stringify([program, args, settings]))
    .digest("hex");
  const before = findDaemon(layout, name);
  if (before?.command === command) return { pid: before.pid, isNew: false };
  if (before) await stopProcess(before.pid, clock);

  const log = openSync(layout.log(name), "a");
  const child = spawn("sh", ["-c", enterAndBecome, componentsFile(), program, ...args], {
    detached: true,
    stdio: ["ignore", log, log],
    cwd: "/",
    env: commandEnvironment,
  });
  closeSync(log);
  const { pid } = child;
  if (pid === undefined) throw new Error(`cannot start ${name}: "sh" is not installed`);
  child.unref();
  writeFileSync(layout.process(name), `${identityOfProcess(pid)} ${command}\n`);
  return { pid, isNew: true };
}

/** The running process of a component. */
export function findDaemon(
  layout: Layout,
  name: string,
): { readonly pid: number; readonly command: string } | undefined {
  if (!existsSync(layout.process(name))) return undefined;
  const [pid = "", start, command = ""] = readFileSync(layout.process(name), "utf8").trim().split(" ");
  return identityOfProcess(Number(pid)) === `${pid} ${start}` && !isZombie(Number(pid))
    ? { pid: Number(pid), command }
    : undefined;
}

const graceMs = 10_000;
const checkEveryMs = 50;

export async function stopDaemon(layout: Layout, name: string, clock: Clock): Promise<void> {
  const daemon = findDaemon(layout, name);
  if (daemon) await stopProcess(daemon.pid, clock);
  rmSync(layout.process(name), { force: true });
}

async function stopProcess(pid: number, clock: Clock): Promise<void> {
  const identity = identityOfProcess(pid);
  const lives = () => identity !== undefined && identityOfProcess(pid) === identity && !isZombie(pid);
  if (!lives()) return;
  process.kill(pid, "SIGTERM");
  for (let waitedMs = 0; lives() && waitedMs < graceMs; waitedMs += checkEveryMs) await clock.sleep(checkEveryMs);
  if (lives()) process.kill(pid, "SIGKILL");
}

const shownLines = 15;

/** The end of a component's log, for an error message. */
export function lastLogLines(layout: Layout, name: string): string {
  if (!existsSync(layout.log(name))) return "(no log file)";
  return readFileSync(layout.log(name), "utf8").trimEnd().split("\n").slice(-shownLines).join("\n");
}
