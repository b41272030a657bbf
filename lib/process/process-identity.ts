import { readFileSync } from "node:fs";

/**
 * The process id and the kernel tick at which the process started, from field 22 of proc(5) `stat`: together they are
 * unique, while an id alone is reused. Undefined without such a process, or without `/proc`.
 */
export function identityOfProcess(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses, which may contain spaces and parentheses.
  const startTicks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  return startTicks === undefined ? undefined : `${pid} ${startTicks}`;
}
