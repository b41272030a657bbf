import { describe, expect, it } from "vitest";
import { PodLogRefused, type PodLogRequest, type PodLogSource } from "../../apiserver/pod-log-source.ts";
import { openCluster } from "./cluster.ts";
import { findBinaries } from "./kubectl.ts";
import { podManifest } from "./manifests.ts";

const lines = ["one", "two", "three"];

/** A node whose containers have written three lines, and write a fourth for clients that follow the log. */
const threeLines: PodLogSource = {
  async *read({ tailLines, follow, previous }: PodLogRequest) {
    if (previous) throw new PodLogRefused('previous terminated container "main" in pod "worker" not found');
    for (const line of lines.slice(-(tailLines ?? lines.length))) yield `${line}\n`;
    if (follow) yield "four\n";
  },
};

describe.each(await findBinaries())("kubectl $version logs", (binary) => {
  it("prints the log of a container", async () => {
    await using cluster = await openCluster(binary, threeLines);
    const { kubectl } = cluster;
    await kubectl.run("create -f -", { input: podManifest });
    expect(await kubectl.run("logs worker")).toBe("one\ntwo\nthree");
    expect(await kubectl.run("logs worker -c main --tail=1")).toBe("three");
    expect(await kubectl.run("logs worker -f")).toBe("one\ntwo\nthree\nfour");
  });

  it("reports a log that does not exist", async () => {
    await using cluster = await openCluster(binary, threeLines);
    const { kubectl } = cluster;
    await kubectl.run("create -f -", { input: podManifest });
    expect(await kubectl.fail("logs nobody")).toContain('pods "nobody" not found');
    expect(await kubectl.fail("logs worker -c other")).toContain("container other is not valid for pod worker");
    expect(await kubectl.fail("logs worker --previous")).toContain('previous terminated container "main"');
  });
});
