import { readdirSync, readFileSync } from "node:fs";

/** Empty if the process has ended. */
export const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

export const commandOf = (pid: string): readonly string[] => textOf(`/proc/${pid}/cmdline`).split("\0").slice(0, -1);

/** The processes of this machine whose command the condition accepts. */
export const processesWith = (isWanted: (command: readonly string[]) => boolean): readonly string[] =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isWanted(commandOf(name)));

export const isAgent = (command: readonly string[]): boolean => command.includes("node/agent/main.js");
export const isSentry = ([program]: readonly string[]): boolean => program === "runsc-sandbox";

/** Kills the process of the agent. The kubelet starts it again. */
export function killAgent(): void {
  const pids = processesWith(isAgent);
  if (pids.length !== 1) throw new Error(`the node has ${pids.length} agents`);
  process.kill(Number(pids[0]), "SIGKILL");
}
