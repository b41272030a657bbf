import { readFile } from "node:fs/promises";

/** Where file systems, or folders of one, are mounted. A path has one character for each byte. Empty on a system without such a list. */
export async function mountPoints(): Promise<readonly string[]> {
  try {
    return mountPointsOf(await readFile("/proc/self/mountinfo", "latin1"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** `mounts`: `/proc/self/mountinfo` (proc(5)). It has white space and backslashes in octal. */
export function mountPointsOf(mounts: string): readonly string[] {
  return mounts.split("\n").flatMap((line) => {
    const at = line.split(" ")[4];
    return at === undefined
      ? []
      : [at.replaceAll(/\\([0-7]{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)))];
  });
}
