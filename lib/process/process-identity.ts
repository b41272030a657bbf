import { readFileSync } from "node:fs";

/**
 * The process id and the kernel tick at which the process started, from field 22 of proc(5) `stat`: together they are
 * unique, while an id alone is reused. Undefined without such a process, or without `/proc`.
 */
export function identityOfProcess(pid: number): string | undefined {
  const startTicks = statOf(pid)?.[19];
  return startTicks === undefined ? undefined : `${pid} ${startTicks}`;
}

/** Whether the process has ended and only its parent does not take note, as the first process of many containers never does. */
export function isZombie(pid: number): boolean {
  const state = statOf(pid)?.[0];
  return state === "Z" || state === "X";
}

/** The fields of proc(5) `stat` of a process, from the third on: state, parent, and so on. Undefined without such a process. */
export function statOf(pid: number): readonly string[] | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  return fieldsOfStat(text);
}

/** The fields of a text of proc(5) `stat`, from the third on. The second is the program's name in parentheses, which may contain spaces and parentheses. */
export const fieldsOfStat = (text: string): readonly string[] => text.slice(text.lastIndexOf(")") + 2).split(" ");
