import { spawnSync } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { fieldsOfStat } from "../../../lib/process/process-identity.ts";
import { ofEachProcess, readOfProcess } from "./proc-files.ts";

/** The content of `/proc/PID/stat`. */
export interface ProcessFacts {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  readonly sessionId: number;
  /** Clock ticks since the boot of the machine: pid and ticks together identify a process uniquely. */
  readonly startTicks: number;
  /** Ended, and not yet reaped by its parent. */
  readonly zombie: boolean;
}

/** @returns undefined for a malformed `stat` file. */
export function parseStat(text: string): ProcessFacts | undefined {
  const pid = Number.parseInt(text, 10);
  const fields = fieldsOfStat(text);
  if (!text.includes(")") || Number.isNaN(pid) || fields.length < 20) return undefined;
  const at = (index: number) => Number(fields[index]); // 0 is the state, the third field of proc(5)
  return {
    pid,
    parentPid: at(1),
    groupId: at(2),
    sessionId: at(3),
    startTicks: at(19),
    zombie: fields[0] === "Z" || fields[0] === "X",
  };
}

/** Whether this machine has `/proc`. */
export const hasProc: boolean = process.platform === "linux";

export async function readProcess(pid: number): Promise<ProcessFacts | undefined> {
  return parseStat((await readOfProcess(pid, "stat", String)) ?? "");
}

export async function listProcesses(): Promise<readonly ProcessFacts[]> {
  return ofEachProcess(readProcess);
}

/** The processes whose environment has this entry, if this user may read it. A process that has ended has no environment. */
export async function processesWith(entry: string): Promise<readonly number[]> {
  return ofEachProcess(async (pid) => {
    const isIn = (environment: Buffer) => environment.includes(entry);
    return (await readOfProcess(pid, "environ", isIn)) ? pid : undefined;
  });
}

/** The value of a variable in the environment of each process that has it, by pid, if this user may read it. */
export async function environmentValues(name: string): Promise<ReadonlyMap<number, string>> {
  const start = `${name}=`;
  const valueIn = (environment: Buffer) =>
    environment
      .toString("latin1")
      .split("\0")
      .find((entry) => entry.startsWith(start))
      ?.slice(start.length);
  const found = await ofEachProcess(async (pid) => {
    const value = await readOfProcess(pid, "environ", valueIn);
    return value === undefined ? undefined : ([pid, value] as const);
  });
  return new Map(found);
}

/**
 * When a process started, as `ps` of any Unix tells it, in UTC and to the second; undefined if it is gone. Pid and time identify
 * a process where there is no `/proc`.
 */
export function startedAt(pid: number): string | undefined {
  const env = { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" };
  const { stdout } = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], {
    env,
    encoding: "utf8",
    timeout: psLimitMs,
  });
  return stdout?.trim() || undefined;
}

const psLimitMs = 2_000;

/** Changes at every boot of the machine. */
export async function readBootId(): Promise<string | undefined> {
  const text = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => undefined);
  return text?.trim();
}

/** Inodes of the open sockets of a process; empty if it is gone or may not be inspected. */
export async function socketInodes(pid: number): Promise<ReadonlySet<string>> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`${directory}/${name}`).catch(() => "")));
  return new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
}
