import { describe, expect, it } from "vitest";
import { type ConfigMap, configMapType, persistentVolumeClaimType } from "../api/kinds/core.ts";
import { openMemoryApi } from "../test/support/memory-api.ts";
import { compileJsonPath } from "./kinds/json-path.ts";
import { compileDefaults } from "./kinds/schema/default.ts";
import { compileRules } from "./kinds/schema/rules.ts";
import { compileValidate } from "./kinds/schema/validate.ts";
import { strategicMergePatch } from "./patch/strategic-merge-patch.ts";
import type { OpenApiSchema } from "./served-kind.ts";

const namespace = "default";
const settings = (name: string, labels: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace, labels },
});

describe("names that every JavaScript object inherits", () => {
  it("are labels only if a client set them", async () => {
    await using api = await openMemoryApi();
    await api.client.create(configMapType, settings("labelled", { constructor: "x", toString: "7" }));
    await api.client.create(configMapType, settings("plain"));
    const found = async (labelSelector: string) =>
      (await api.client.list(configMapType, { namespace, labelSelector })).items
        .map(({ metadata }) => metadata.name)
        .filter((name) => name !== "kube-root-ca.crt");
    expect(await found("constructor")).toEqual(["labelled"]);
    expect(await found("!toString")).toEqual(["plain"]);
    expect(await found("constructor in (x)")).toEqual(["labelled"]);
    expect(await found("toString>6")).toEqual(["labelled"]);
    expect(await found("constructor!=x")).toEqual(["plain"]);
    await expect(api.client.list(configMapType, { namespace, fieldSelector: "constructor=x" })).rejects.toThrow(
      "field label not supported: constructor",
    );
  });

  it("are no media types of patches, and no access modes", async () => {
    await using api = await openMemoryApi();
    await api.client.create(configMapType, settings("plain"));
    const url = `${api.url}/api/v1/namespaces/default/configmaps/plain`;
    const headers = { "Content-Type": "constructor" };
    expect((await fetch(url, { method: "PATCH", headers, body: "{}" })).status).toBe(415);
    const spec = { accessModes: ["constructor"], resources: { requests: { storage: "1Gi" } } };
    const claim = { metadata: { name: "data", namespace }, spec };
    await expect(api.client.create(persistentVolumeClaimType, claim)).rejects.toThrow("Unsupported value");
  });

  it("are ordinary fields of a schema", () => {
    const text: OpenApiSchema = { type: "string", default: "d" };
    const schema: OpenApiSchema = { type: "object", properties: { valueOf: text }, required: ["constructor"] };
    expect(compileDefaults(schema)({})).toEqual({ valueOf: "d" });
    const causes: unknown[] = [];
    compileValidate(schema, { listTypes: true })({}, "spec", causes as never);
    expect(causes).toMatchObject([{ field: "spec.constructor", reason: "FieldValueRequired" }]);
    const rule = { rule: "self != 'no'", message: "it must not be no" };
    const ruled: OpenApiSchema = {
      type: "object",
      properties: { toString: { type: "string", "x-kubernetes-validations": [rule] } },
    };
    const complaints: unknown[] = [];
    compileRules(ruled)?.({}, undefined, "spec", complaints as never);
    expect(complaints).toEqual([]);
    compileValidate({ type: "string", format: "constructor" }, { listTypes: true })("x", "spec", complaints as never);
    expect(complaints).toEqual([]);
    expect(compileJsonPath(".metadata.labels['valueOf']")({ metadata: { labels: {} } })).toBeUndefined();
  });

  it("are ordinary fields of a strategic merge patch", () => {
    const patch = { toString: { a: "1" }, constructor: ["x"], valueOf: null };
    expect(strategicMergePatch({}, patch)).toEqual({ toString: { a: "1" }, constructor: ["x"] });
  });
});
