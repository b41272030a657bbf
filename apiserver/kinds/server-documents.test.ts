import { describe, expect, it } from "vitest";
import { servedKinds } from "./served-kinds.ts";
import { ServerDocuments } from "./server-documents.ts";

const documents = new ServerDocuments(servedKinds());

function read(path: string, aggregated?: "v2" | "v2beta1") {
  const document = documents.at(path, aggregated);
  return document && JSON.parse(document.body);
}

describe("discovery", () => {
  it("names the groups, and the resources of each", () => {
    expect(read("/apis").groups.map(({ name }: { name: string }) => name)).toContain("agents.x-k8s.io");
    expect(read("/apis/agents.x-k8s.io/v1beta1")).toMatchObject({
      kind: "APIResourceList",
      groupVersion: "agents.x-k8s.io/v1beta1",
      resources: [
        { name: "sandboxes", singularName: "sandbox", namespaced: true, kind: "Sandbox", shortNames: ["sandbox"] },
        { name: "sandboxes/status", kind: "Sandbox", verbs: ["get", "patch", "update"] },
      ],
    });
  });

  it("lists the subresources of an object", () => {
    const names = read("/api/v1").resources.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["pods", "pods/log", "pods/status", "services", "configmaps"]));
    expect(names).not.toContain("configmaps/status");
  });

  it("returns aggregated discovery to clients that accept it", () => {
    expect(documents.at("/apis", "v2")?.contentType).toBe(
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    );
    expect(read("/api", "v2")).toMatchObject({
      kind: "APIGroupDiscoveryList",
      apiVersion: "apidiscovery.k8s.io/v2",
      items: [{ metadata: { creationTimestamp: null }, versions: [{ version: "v1", freshness: "Current" }] }],
    });
    expect(read("/apis", "v2beta1").apiVersion).toBe("apidiscovery.k8s.io/v2beta1");
  });

  it("offers the kinds of definitions for reading only", () => {
    const [definitions] = read("/apis/apiextensions.k8s.io/v1").resources;
    expect(definitions).toMatchObject({ name: "customresourcedefinitions", verbs: ["get", "list", "watch"] });
  });

  it("knows no path that it does not serve", () => {
    expect(documents.at("/apis/example.com/v1", undefined)).toBeUndefined();
  });
});

it("the version is supported by today's clients", () => {
  expect(read("/version")).toMatchObject({ major: "1", minor: "36", gitVersion: "v1.36.0" });
});

describe("OpenAPI", () => {
  it("has an index with a place for each version of a group, which changes with its content", () => {
    expect(read("/openapi/v3").paths["apis/agents.x-k8s.io/v1beta1"].serverRelativeURL).toMatch(
      /^\/openapi\/v3\/apis\/agents\.x-k8s\.io\/v1beta1\?hash=[0-9A-F]{64}$/,
    );
  });

  it("describes each kind under its group, version and kind", () => {
    const { schemas } = read("/openapi/v3/api/v1").components;
    expect(schemas["io.k8s.api.core.v1.Pod"]).toMatchObject({
      "x-kubernetes-group-version-kind": [{ group: "", version: "v1", kind: "Pod" }],
      properties: { spec: { properties: { containers: { type: "array" } } } },
    });
  });

  it("has the parameters fieldValidation and dryRun of a patch", () => {
    const { patch } = read("/openapi/v3/api/v1").paths["/api/v1/namespaces/{namespace}/pods/{name}"];
    expect(patch["x-kubernetes-group-version-kind"]).toEqual({ group: "", version: "v1", kind: "Pod" });
    const names = patch.parameters.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["fieldValidation", "dryRun"]));
  });

  it("writes numbers-or-strings as clients know them", () => {
    const { schemas } = read("/openapi/v3/api/v1").components;
    const port = schemas["io.k8s.api.core.v1.Service"].properties.spec.properties.ports.items.properties.targetPort;
    expect(port.allOf).toEqual([{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString" }]);
  });
});
