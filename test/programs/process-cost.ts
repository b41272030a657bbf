import { readdirSync, readFileSync } from "node:fs";

/** Linux counts CPU time in steps of 10 ms. */
const ticksPerSecond = 100;

/** CPU time in seconds; `kernel` is the part of `all` that system calls took. */
export interface CpuTime {
  readonly all: number;
  readonly kernel: number;
}

/** What a process and all that it started have used so far. */
export function cpuTimeOf(pid: number): CpuTime {
  let [user, kernel] = [0, 0];
  for (const fields of treeOf(pid).map(statOf)) {
    user += Number(fields[11] ?? 0) / ticksPerSecond;
    kernel += Number(fields[12] ?? 0) / ticksPerSecond;
  }
  return { all: user + kernel, kernel };
}

/** CPU seconds that a process and all that it started have used so far. */
export const cpuSeconds = (pid: number): number => cpuTimeOf(pid).all;

/** Bytes of memory that a process has in use, shared pages included. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) * 1024;
}

/** How many files, sockets and the like a process has open. */
export const openDescriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

function treeOf(pid: number): readonly number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const children = all.map(Number).filter((each) => Number(statOf(each)[1]) === pid);
  return [pid, ...children.flatMap(treeOf)];
}

/** The fields of /proc/PID/stat after the name: the state, the parent, ...; empty when the process is gone. */
function statOf(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}
