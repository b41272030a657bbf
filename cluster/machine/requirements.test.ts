import { describe, expect, it } from "vitest";
import { type Machine, missing } from "./requirements.ts";

const complete: Machine = { platform: "linux", isRoot: true, hasGo: true, filtersBridges: true, missingPackages: [] };
const directory = "/root/.cache/rouse/cluster";

describe("the missing requirements of a cluster", () => {
  it("is empty when the machine has everything", () => {
    expect(missing(complete, directory)).toEqual([]);
  });

  it("is named with the one command that installs it", () => {
    expect(missing({ ...complete, missingPackages: ["runc", "nftables"] }, directory)).toEqual([
      "packages are missing: run `apt-get update && apt-get install -y --no-install-recommends runc nftables`, or add --install-packages",
    ]);
  });

  it("has the kernel module whose setting a cluster changes", () => {
    expect(missing({ ...complete, filtersBridges: false }, directory)).toEqual([
      "the kernel module br_netfilter is not loaded, and it could not be loaded: run `modprobe br_netfilter`",
    ]);
  });

  it("are reported all at once", () => {
    const lacking = missing({ ...complete, isRoot: false, hasGo: false, missingPackages: ["runc"] }, directory);
    expect(lacking).toHaveLength(3);
  });

  it("is another system, where the rest does not matter", () => {
    expect(missing({ ...complete, platform: "darwin", isRoot: false }, directory)).toEqual([
      "a cluster needs Linux; on other systems, use `npm start`",
    ]);
  });

  it.each(["/var/cluster", "/run/cluster", "/var"])(
    "is another directory than %s, which the cluster hides",
    (hidden) => {
      expect(missing(complete, hidden)).toEqual([expect.stringContaining("--dir must not be below")]);
      expect(missing(complete, "/variable")).toEqual([]);
    },
  );
});
