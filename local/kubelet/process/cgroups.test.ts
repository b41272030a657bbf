import { describe, expect, it } from "vitest";
import { ownCgroup } from "./cgroups.ts";

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
