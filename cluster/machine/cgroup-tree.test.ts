import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cgroupsBelow, processesBelow, removeCgroupsBelow } from "./cgroup-tree.ts";

// Folders stand for cgroups: the kernel shows these as folders, too.

let top: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "cgroup-tree-"));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const at = (...names: readonly string[]) => join(top, ...names);
const make = (...names: readonly string[]) => mkdirSync(at(...names), { recursive: true });

describe("cgroups that vanish meanwhile", () => {
  it("have no processes, and those of the others are found", () => {
    make("pods", "gone");
    make("pods", "running");
    writeFileSync(at("cgroup.procs"), "");
    writeFileSync(at("pods", "cgroup.procs"), "12\n");
    writeFileSync(at("pods", "running", "cgroup.procs"), "34\n56\n");
    expect(processesBelow(top)).toEqual([34, 56, 12]);
    expect(processesBelow(at("never"))).toEqual([]);
  });

  it("need not be removed, and the others are, the deepest first", () => {
    for (const name of ["one", "two", "three"]) make("pods", name);
    const removed: string[] = [];
    removeCgroupsBelow(at("pods"), (path) => {
      // The kubelet removes another one at that moment.
      if (removed.length === 0) rmdirSync(cgroupsBelow(at("pods"))[1] ?? "");
      rmdirSync(path);
      removed.push(path);
    });
    expect(existsSync(at("pods"))).toBe(false);
    expect(removed).toHaveLength(3);
    removeCgroupsBelow(at("pods"));
  });

  it("are no excuse for one that cannot be removed", () => {
    make("pods");
    writeFileSync(at("pods", "file"), "");
    expect(() => removeCgroupsBelow(at("pods"))).toThrow("ENOTEMPTY");
  });
});
