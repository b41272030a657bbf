import { readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";

// A cgroup may vanish at any moment: systemd, the kubelet and containerd remove those that are empty. Then it has no processes, and
// need not be removed.

/** A cgroup and all its descendants, the deepest first: the order in which they can be removed. None if it does not exist. */
export function cgroupsBelow(path: string): readonly string[] {
  const entries = unlessGone(() => readdirSync(path, { withFileTypes: true }));
  if (!entries) return [];
  const children = entries.filter((entry) => entry.isDirectory());
  return [...children.flatMap((child) => cgroupsBelow(join(path, child.name))), path];
}

/** The ids of all processes of a cgroup and its descendants. */
export function processesBelow(path: string): readonly number[] {
  return cgroupsBelow(path).flatMap((each) => {
    const lines = unlessGone(() => readFileSync(join(each, "cgroup.procs"), "utf8")) ?? "";
    return lines.split("\n").filter(Boolean).map(Number);
  });
}

/** `remove`: removes one that has no descendants. */
export function removeCgroupsBelow(path: string, remove: (path: string) => void = rmdirSync): void {
  for (const each of cgroupsBelow(path)) unlessGone(() => remove(each));
}

/** ENODEV: the cgroup was removed after its file was opened. */
function unlessGone<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENODEV") throw error;
    return undefined;
  }
}
