import { describe, expect, it } from "vitest";
import { autoFields } from "./auto-fields.ts";
import type { Definition, DefinitionVersion } from "./definition.ts";
import { customResourceDefinitions } from "./definitions.ts";
import type { JsonSchema } from "./json-schema.ts";

const definitions = customResourceDefinitions();
const kinds = definitions.map((definition) => ({ kind: definition.spec.names.kind, definition }));
const versions = definitions.flatMap((definition) =>
  definition.spec.versions.map((version) => ({
    kind: definition.spec.names.kind,
    version: version.name,
    body: version,
  })),
);

function versionOf(kind: string, version: string): DefinitionVersion {
  const found = versions.find((one) => one.kind === kind && one.version === version);
  if (!found) throw new Error(`there is no ${version} ${kind}`);
  return found.body;
}

/** The schema at a path of field names; `[]` selects the items of a list. */
function at(schema: JsonSchema, path: string): JsonSchema {
  return path.split(".").reduce((parent, step) => {
    const child = step === "[]" ? parent.items : parent.properties?.[step];
    if (!child) throw new Error(`${path}: there is no ${step}`);
    return child;
  }, schema);
}

const field = (kind: string, version: string, path: string): JsonSchema =>
  at(versionOf(kind, version).schema.openAPIV3Schema, path);

const without = (schema: JsonSchema, ...names: readonly string[]): JsonSchema => ({
  ...schema,
  properties: Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([name]) => !names.includes(name))),
});

describe.each(kinds)("the definition of $kind", ({ kind, definition }: { kind: string; definition: Definition }) => {
  it("stores v1beta1, and serves v1alpha1 with the warning that its users know", () => {
    const { group } = definition.spec;
    expect(definition.spec.versions).toMatchObject([
      { name: "v1beta1", served: true, storage: true },
      {
        name: "v1alpha1",
        served: true,
        storage: false,
        deprecated: true,
        deprecationWarning: `${group}/v1alpha1 ${kind} is deprecated; use ${group}/v1beta1 ${kind} instead`,
      },
    ]);
    expect(definition.spec.versions[0]).not.toHaveProperty("deprecated");
  });

  it("is converted by the webhook of existing installations", () => {
    expect(definition.spec.conversion).toEqual({
      strategy: "Webhook",
      webhook: {
        clientConfig: {
          service: { name: "agent-sandbox-webhook-service", namespace: "agent-sandbox-system", path: "/convert" },
        },
        conversionReviewVersions: ["v1", "v1beta1"],
      },
    });
  });

  it("is called after its plural and its group, and lives in namespaces", () => {
    const { group, names, scope } = definition.spec;
    expect(definition.metadata.name).toBe(`${names.plural}.${group}`);
    expect(names).toMatchObject({ listKind: `${kind}List`, singular: kind.toLowerCase() });
    expect(scope).toBe("Namespaced");
  });
});

it.each(versions)("$version $kind requires only a spec", ({ body }) => {
  expect(body.schema.openAPIV3Schema.required).toEqual(["spec"]);
});

describe("subresources and columns", () => {
  const columns = (kind: string, version: string) =>
    versionOf(kind, version).additionalPrinterColumns?.map(
      ({ name, type, jsonPath, priority }) => `${name}:${type}:${jsonPath}${priority ? " wide" : ""}`,
    );
  const ready = "Ready:string:.status.conditions[?(@.type=='Ready')].status";
  const reason = "Reason:string:.status.conditions[?(@.type=='Ready')].reason";
  const age = "Age:date:.metadata.creationTimestamp";
  const scale = {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  };

  it("show a Sandbox as its users know it, and our columns only by -o wide", () => {
    expect(columns("Sandbox", "v1beta1")).toEqual([
      ready,
      reason,
      age,
      "Mode:string:.spec.operatingMode wide",
      "Last Activity:date:.status.lastActivityTime wide",
      "Next Suspension:string:.status.nextSuspensionTime wide",
      "Memory:string:.status.hibernation.state wide",
      "Memory Bytes:integer:.status.hibernation.bytes wide",
    ]);
    expect(columns("Sandbox", "v1alpha1")).toBeUndefined();
  });

  it("show a SandboxClaim with its Sandbox", () => {
    expect(columns("SandboxClaim", "v1beta1")).toEqual([ready, "Sandbox:string:.status.sandbox.name", reason, age]);
    expect(columns("SandboxClaim", "v1alpha1")).toBeUndefined();
  });

  it.each(["v1beta1", "v1alpha1"])("show a %s SandboxWarmPool with its counts", (version) => {
    expect(columns("SandboxWarmPool", version)).toEqual([
      "Ready:integer:.status.readyReplicas",
      "Desired:integer:.spec.replicas",
      age,
    ]);
  });

  it.each([
    { kind: "Sandbox", version: "v1beta1", subresources: { status: {} } },
    { kind: "Sandbox", version: "v1alpha1", subresources: { status: {}, scale } },
    { kind: "SandboxClaim", version: "v1beta1", subresources: { status: {} } },
    { kind: "SandboxClaim", version: "v1alpha1", subresources: { status: {} } },
    { kind: "SandboxTemplate", version: "v1beta1", subresources: undefined },
    { kind: "SandboxTemplate", version: "v1alpha1", subresources: undefined },
    { kind: "SandboxWarmPool", version: "v1beta1", subresources: { status: {}, scale } },
    { kind: "SandboxWarmPool", version: "v1alpha1", subresources: { status: {}, scale } },
  ])("are those of the contract for $version $kind", ({ kind, version, subresources }) => {
    expect(versionOf(kind, version).subresources).toEqual(subresources);
  });
});

describe("the versions of a kind differ only as in the contract", () => {
  it("Sandbox: the spec in operatingMode and replicas, the status in nodeName and replicas", () => {
    const newSpec = without(field("Sandbox", "v1beta1", "spec"), "operatingMode");
    const { "x-kubernetes-validations": rules, ...rest } = newSpec;
    expect(rest).toEqual(without(field("Sandbox", "v1alpha1", "spec"), "replicas"));
    expect(rules).toHaveLength(1);
    expect(without(field("Sandbox", "v1beta1", "status"), "nodeName")).toEqual(
      without(field("Sandbox", "v1alpha1", "status"), "replicas"),
    );
    expect(field("Sandbox", "v1alpha1", "spec.replicas")).toMatchObject({ default: 1, minimum: 0, maximum: 1 });
  });

  it("SandboxClaim: a template and a pool by name, or a pool alone", () => {
    const old = field("SandboxClaim", "v1alpha1", "spec");
    const now = field("SandboxClaim", "v1beta1", "spec");
    expect(old.required).toEqual(["sandboxTemplateRef"]);
    expect(now.required).toEqual(["warmPoolRef"]);
    expect(field("SandboxClaim", "v1alpha1", "spec.warmpool")).toMatchObject({ default: "default" });
    expect(without(now, "warmPoolRef", "volumeClaimTemplates").properties).toEqual(
      without(old, "sandboxTemplateRef", "warmpool").properties,
    );
    expect(field("SandboxClaim", "v1beta1", "status")).toEqual(field("SandboxClaim", "v1alpha1", "status"));
  });

  it("SandboxTemplate: volumeClaimTemplatesPolicy", () => {
    const now = field("SandboxTemplate", "v1beta1", "spec");
    expect(without(now, "volumeClaimTemplatesPolicy")).toEqual(field("SandboxTemplate", "v1alpha1", "spec"));
    expect(now.required).toEqual(["podTemplate"]);
  });

  it("SandboxWarmPool: whether replicas may be left out, and observedGeneration", () => {
    expect(field("SandboxWarmPool", "v1alpha1", "spec").required).toEqual(["replicas", "sandboxTemplateRef"]);
    expect(field("SandboxWarmPool", "v1alpha1", "spec.replicas").default).toBeUndefined();
    expect(field("SandboxWarmPool", "v1beta1", "spec").required).toEqual(["sandboxTemplateRef"]);
    expect(field("SandboxWarmPool", "v1beta1", "spec.replicas").default).toBe(1);
    expect(without(field("SandboxWarmPool", "v1beta1", "status"), "observedGeneration")).toEqual(
      field("SandboxWarmPool", "v1alpha1", "status"),
    );
  });
});

describe("autoSuspension, autoResume and suspensionStrategy", () => {
  it.each(["Sandbox", "SandboxTemplate"])("are the same in both versions of %s", (kind) => {
    for (const version of ["v1beta1", "v1alpha1"]) {
      expect(field(kind, version, "spec").properties).toMatchObject(autoFields);
    }
  });

  it("never come into an object by a default", () => {
    expect(JSON.stringify(autoFields)).not.toContain('"default"');
    expect(field("Sandbox", "v1beta1", "spec").required).toEqual(["podTemplate"]);
  });
});
