import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { run } from "../../cluster/command.ts";
import { release } from "../../cluster/install-chart.ts";
import { renderManifests } from "../../scripts/manifests/render-manifests.ts";
import { type ClusterUnderTest, connectToCluster } from "./support/cluster-under-test.ts";

const repository = join(import.meta.dirname, "..", "..");
const chart = join(repository, "charts", "rouse");
const helm = (...args: readonly string[]) => run(inject("helm"), args);

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe("the chart", () => {
  it("says the same as the plain manifests; else run `npm run generate:manifests`", () => {
    const files = renderManifests(inject("helm"));
    const read = (path: string) =>
      existsSync(join(repository, path)) ? readFileSync(join(repository, path), "utf8") : "";
    expect([...files].filter(([path, text]) => read(path) !== text).map(([path]) => path)).toEqual([]);
  });

  it("is taken by the API server as plain manifests, on top of itself", async () => {
    const args = [
      "apply",
      "--kustomize",
      join(repository, "k8s"),
      "--dry-run=server",
      "--server-side",
      "--force-conflicts",
    ];
    expect(await cluster.kubectl.run(args)).toContain("deployment.apps/sandbox-router serverside-applied");
  });

  it.each([
    ["auth.mode=maybe", "/auth/mode"],
    ["replicaCount=none", "/replicaCount"],
    ["controller.extraArgs[0]=worker", "/controller/extraArgs/0"],
    ["activator.repicaCount=2", "/activator"],
  ])("refuses %s and says where it is wrong", async (value, path) => {
    await expect(helm("template", release.name, chart, "--set", value)).rejects.toThrow(`at '${path}'`);
  });

  it("opens the sandboxes to everybody only when that is asked for", async () => {
    expect(await helm("template", release.name, chart)).not.toContain("allow-all");
    expect(await helm("template", release.name, chart, "--set=auth.mode=none")).toContain("--authz-mode=allow-all");
  });

  it("keeps the definitions, and so the users' objects, when it is uninstalled", async () => {
    const names = await cluster.kubectl.run([
      "get",
      "crd",
      '--output=jsonpath={range .items[*]}{.metadata.annotations.helm\\.sh/resource-policy}{"\\n"}{end}',
    ]);
    expect(names.trim().split("\n")).toEqual(["keep", "keep", "keep", "keep"]);
  });

  it("wakes a sandbox that sleeps, as its own test", async () => {
    const inRelease = [`--kubeconfig=${inject("kubeconfig")}`, `--namespace=${release.namespace}`];
    expect(await helm("test", release.name, ...inRelease, "--timeout=60s")).toContain("Phase:          Succeeded");
    const said = await cluster.kubectl.run(["logs", "rouse-test-client", `--namespace=${release.namespace}`]);
    expect(said).toBe("200 awake\n");
  });
});
