import { describe, expect, it } from "vitest";
import { openCluster } from "./cluster.ts";
import { findBinaries } from "./kubectl.ts";

describe.each(await findBinaries())("kubectl $version asks the server about itself:", (binary) => {
  it("explain prints a field of our kind with its values", async () => {
    await using cluster = await openCluster(binary);
    const explained = await cluster.kubectl.run("explain sandbox.spec.operatingMode");
    expect(explained).toMatch(/^GROUP: +agents\.x-k8s\.io\nKIND: +Sandbox\nVERSION: +v1beta1/);
    expect(explained).toMatch(/ENUM:\s+Running\s+Suspended/);
  });

  it("explain describes nested fields of built-in kinds", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    expect(await kubectl.run("explain pod.spec.containers")).toMatch(/name\t<string> -required-/);
    expect(await kubectl.run("explain sandbox.spec.podTemplate.spec.containers.readinessProbe.httpGet")).toMatch(
      /port\t<IntOrString> -required-/,
    );
    expect(await kubectl.run("explain service.metadata.labels")).toContain("<map[string]string>");
  });

  it("explain --recursive prints the whole tree", async () => {
    await using cluster = await openCluster(binary);
    const tree = await cluster.kubectl.run("explain sandbox --recursive");
    for (const field of ["podTemplate", "containerPort", "inactivityTimeoutSeconds", "lastTransitionTime"]) {
      expect(tree).toContain(field);
    }
  });

  it("explain rejects a field that does not exist", async () => {
    await using cluster = await openCluster(binary);
    expect(await cluster.kubectl.fail("explain sandbox.spec.mode")).toBe('error: field "mode" does not exist');
  });

  it("api-resources and api-versions list the served kinds and versions", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    expect(await kubectl.run("api-resources")).toMatch(
      /sandboxwarmpools +swp +extensions\.agents\.x-k8s\.io\/v1beta1 +true/,
    );
    expect(await kubectl.run("api-resources --verbs=create -o name")).not.toContain("customresourcedefinitions");
    expect((await kubectl.run("api-versions")).split("\n")).toEqual(
      expect.arrayContaining(["v1", "agents.x-k8s.io/v1beta1", "events.k8s.io/v1"]),
    );
  });

  it("version prints both versions", async () => {
    await using cluster = await openCluster(binary);
    const version = JSON.parse(await cluster.kubectl.run("version -o json"));
    expect(version).toMatchObject({ clientVersion: { gitVersion: binary.version }, serverVersion: { minor: "36" } });
  });

  it("a wrong token is reported", async () => {
    await using cluster = await openCluster(binary);
    expect(await cluster.kubectl.fail("get pods --token=wrong")).toContain("You must be logged in to the server");
  });
});
