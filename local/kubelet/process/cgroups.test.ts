import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { idle } from "../../../test/support/labs/local-node.ts";
import { Cgroup, ownCgroup } from "./cgroups.ts";

const line = (root: string, at: string, type: string, options: string) =>
  `31 25 0:27 ${root} ${at} rw,nosuid - ${type} ${type} ${options}`;
const unified = line("/", "/sys/fs/cgroup", "cgroup2", "rw,nsdelegate");
const pids = line("/", "/sys/fs/cgroup/pids", "cgroup", "rw,pids");

describe("the cgroup of this process", () => {
  it("is found in the unified hierarchy", () => {
    expect(ownCgroup(unified, "0::/user.slice/session-1.scope\n")).toBe("/sys/fs/cgroup/user.slice/session-1.scope");
  });

  it("is found in the unified hierarchy where v1 is mounted too", () => {
    const mounts = [pids, line("/", "/sys/fs/cgroup/unified", "cgroup2", "rw")].join("\n");
    expect(ownCgroup(mounts, "8:pids:/a\n0::/b\n")).toBe("/sys/fs/cgroup/unified/b");
  });

  it("is found below the part that is mounted, as in a container", () => {
    const mount = line("/docker/abc", "/sys/fs/cgroup", "cgroup2", "rw");
    expect(ownCgroup(mount, "0::/docker/abc/child\n")).toBe("/sys/fs/cgroup/child");
    expect(ownCgroup(mount, "0::/docker/abc\n")).toBe("/sys/fs/cgroup/");
  });

  it("is found in a hierarchy of v1 that tracks processes", () => {
    const mounts = [line("/", "/sys/fs/cgroup/cpu,cpuacct", "cgroup", "rw,cpu,cpuacct"), pids].join("\n");
    expect(ownCgroup(mounts, "5:cpu,cpuacct:/x\n8:pids:/user\n")).toBe("/sys/fs/cgroup/pids/user");
  });

  it("is undefined if the system has none", () => {
    expect(ownCgroup("", "")).toBeUndefined();
    expect(ownCgroup(line("/", "/", "ext4", "rw"), "0::/\n")).toBeUndefined();
  });
});

describe("a program that is started in the cgroup of a container", () => {
  /** A directory with the files of a cgroup. */
  function aCgroup(files: Readonly<Record<string, string>>) {
    const path = mkdtempSync(join(tmpdir(), "rouse-cgroup-"));
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    for (const [name, content] of Object.entries({ "cgroup.procs": "", ...files })) {
      writeFileSync(join(path, name), content);
    }
    return { path, cgroup: Cgroup.find(path, basename(path)) };
  }

  it.each([
    { what: "is frozen", files: { "cgroup.freeze": "1\n" } },
    {
      what: "is frozen with its parent",
      files: { "cgroup.freeze": "0\n", "cgroup.events": "populated 1\nfrozen 1\n" },
    },
    { what: "is being frozen in v1", files: { "freezer.state": "FREEZING\n" } },
  ])("is not started if that $what", ({ files }) => {
    const { cgroup, path } = aCgroup(files);
    expect(() => cgroup?.within(() => "started")).toThrow("the container is frozen");
    expect(readFileSync(join(path, "cgroup.procs"), "utf8")).toBe("");
  });

  it("is not started if the container has ended", () => {
    const { cgroup, path } = aCgroup({});
    rmSync(path, { recursive: true });
    expect(() => cgroup?.within(() => "started")).toThrow("the container has ended");
  });

  /** Only where this user may create cgroups. */
  function made(): readonly string[] {
    const cgroup = Cgroup.make(Cgroup.placeFor("rouse-another-test"));
    cgroup?.remove();
    return cgroup ? ["rouse-a-divided-test"] : [];
  }

  it.each(made())("is started in the part that the container is in, and all parts end with it (%s)", async (name) => {
    const cgroup = Cgroup.make(Cgroup.placeFor(name));
    const start = (): ChildProcess => spawn(process.execPath, ["-e", idle], { stdio: "ignore" });
    const container = cgroup?.within(start);
    const before = readFileSync("/proc/self/cgroup", "utf8");
    const part = join(cgroup?.path ?? "", "part");
    mkdirSync(part);
    writeFileSync(join(part, "cgroup.procs"), String(container?.pid));
    const command = cgroup?.within(start, container?.pid);
    expect(readFileSync(`/proc/${command?.pid}/cgroup`, "utf8")).toContain(`/${name}/part`);
    expect(readFileSync("/proc/self/cgroup", "utf8")).toBe(before);
    expect(cgroup?.members()).toEqual(expect.arrayContaining([container?.pid, command?.pid]));
    const ends = [container, command].map((child) => child && once(child, "exit"));
    cgroup?.kill();
    for (const child of [container, command]) child?.kill("SIGKILL");
    await Promise.all(ends);
    await eventually(() => {
      cgroup?.remove();
      return Cgroup.find(cgroup?.path ?? "", name) === undefined;
    });
  });
});
