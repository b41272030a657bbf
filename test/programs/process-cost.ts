import { readdirSync, readFileSync } from "node:fs";
import { statOf } from "../../lib/process/process-identity.ts";

/** Linux counts CPU time in steps of 10 ms. */
const ticksPerSecond = 100;

/** CPU time in seconds; `kernel` is the part of `all` that system calls took. */
export interface CpuTime {
  readonly all: number;
  readonly kernel: number;
}

/** The CPU time of a process and its children so far. */
export function cpuTimeOf(pid: number): CpuTime {
  let [user, kernel] = [0, 0];
  for (const fields of treeOf(pid).map(statOf)) {
    user += Number(fields?.[11] ?? 0) / ticksPerSecond;
    kernel += Number(fields?.[12] ?? 0) / ticksPerSecond;
  }
  return { all: user + kernel, kernel };
}

/** CPU seconds of a process and its children so far. */
export const cpuSeconds = (pid: number): number => cpuTimeOf(pid).all;

/** The resident memory of a process in bytes, shared pages included. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) * 1024;
}

/** The most resident memory that a process has had, in bytes, shared pages included. */
export function peakResidentBytes(pid: number): number {
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) * 1024;
}

/** The number of open descriptors of a process. */
export const openDescriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** The processes that a process has started and that have not ended. */
export function childrenOf(pid: number): readonly number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return all.map(Number).filter((each) => Number(statOf(each)?.[1]) === pid);
}

const treeOf = (pid: number): readonly number[] => [pid, ...childrenOf(pid).flatMap(treeOf)];
