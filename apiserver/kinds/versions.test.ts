import { describe, expect, it } from "vitest";
import { sandboxClaimV1alpha1Type, sandboxTemplateV1alpha1Type } from "../../api/conversion/v1alpha1.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { v1alpha1StateAnnotations, volumeClaimTemplatesPolicyAnnotation } from "../../api/rules/keys.ts";
import { aBetaTemplate, anAlphaClaim, anAlphaTemplate } from "../../test/support/builders/versions.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";

const where = { namespace: "default", name: "c" };

describe("an object of an older version", () => {
  it("is not written again when it is put back as it was read", async () => {
    await using api = await openMemoryApi();
    const made = await api.client.create(sandboxClaimV1alpha1Type, {
      ...anAlphaClaim({ warmpool: "none" }),
      metadata: where,
    });
    const putBack = await api.client.replace(sandboxClaimV1alpha1Type, made);
    expect(putBack).toEqual(made);
  });

  it("is written if it is put back after its creation in the newer version, since it gets a state", async () => {
    await using api = await openMemoryApi();
    await api.client.create(sandboxClaimType, { metadata: where, spec: { warmPoolRef: { name: "p" } } });
    const read = await api.client.get(sandboxClaimV1alpha1Type, where);
    expect(read.spec).toEqual({ sandboxTemplateRef: { name: "p" }, warmpool: "p" });
    const { metadata } = await api.client.replace(sandboxClaimV1alpha1Type, read);
    expect(metadata.resourceVersion).not.toBe(read.metadata.resourceVersion);
    expect(metadata.generation).toBe(1);
    const [state] = Object.values((await api.client.get(sandboxClaimType, where)).metadata.annotations ?? {});
    expect(state).not.toContain("resourceVersion");
  });

  it("is complete by the defaults of the stored version too", async () => {
    await using api = await openMemoryApi();
    await api.client.create(sandboxTemplateV1alpha1Type, { ...anAlphaTemplate(), metadata: where });
    const { spec } = await api.client.get(sandboxTemplateType, where);
    expect(spec.volumeClaimTemplatesPolicy).toBe("Disallowed");
    const read = await api.client.get(sandboxTemplateV1alpha1Type, where);
    expect(read.metadata).not.toHaveProperty("annotations");
  });
});

describe("an object with an unreadable original of the older version", () => {
  const annotations = { [v1alpha1StateAnnotations.SandboxClaim]: "{" };
  const claim = { metadata: { ...where, annotations }, spec: { warmPoolRef: { name: "p" } } };

  it("is converted by its fields on get, list and watch, and does not hide other objects", async () => {
    await using api = await openMemoryApi();
    const { metadata } = await api.client.list(sandboxClaimType);
    await api.client.create(sandboxClaimType, claim);
    const read = await api.client.get(sandboxClaimV1alpha1Type, where);
    expect(read).toMatchObject({ spec: { sandboxTemplateRef: { name: "p" }, warmpool: "p" } });
    expect((await api.client.list(sandboxClaimV1alpha1Type)).items).toMatchObject([{ spec: read.spec }]);
    const stop = new AbortController();
    const options = { resourceVersion: metadata.resourceVersion };
    for await (const { type, object } of api.client.watch(sandboxClaimV1alpha1Type, options, stop.signal)) {
      expect([type, object]).toMatchObject(["ADDED", { spec: read.spec }]);
      break;
    }
    stop.abort();
  });

  it("has a readable one once it is written through that version", async () => {
    await using api = await openMemoryApi();
    await api.client.create(sandboxClaimType, claim);
    const read = await api.client.get(sandboxClaimV1alpha1Type, where);
    await api.client.replace(sandboxClaimV1alpha1Type, read);
    const stored = await api.client.get(sandboxClaimType, where);
    expect(JSON.parse(stored.metadata.annotations?.[v1alpha1StateAnnotations.SandboxClaim] ?? "")).toMatchObject({
      spec: { warmpool: "p" },
    });
  });
});

describe("an object with annotations at the limit", () => {
  const filler = "x".repeat(262_144 - "filler".length);
  const full = { ...where, annotations: { filler } };

  it("written through v1alpha1 fails the lists of neither version", async () => {
    await using api = await openMemoryApi();
    await api.client.create(sandboxTemplateV1alpha1Type, { ...anAlphaTemplate(), metadata: full });
    const types: readonly ResourceType<KubeObject>[] = [sandboxTemplateV1alpha1Type, sandboxTemplateType];
    for (const type of types) {
      const [read] = (await api.client.list(type)).items;
      expect(read?.metadata.annotations).toEqual({ filler });
    }
  });

  it("written through v1beta1 fails the lists of neither version", async () => {
    await using api = await openMemoryApi();
    const template = aBetaTemplate({ volumeClaimTemplatesPolicy: "Overrides" });
    await api.client.create(sandboxTemplateType, { ...template, metadata: full });
    const [read] = (await api.client.list(sandboxTemplateV1alpha1Type)).items;
    expect(read?.metadata.annotations).toEqual({ filler });
  });

  it("has the default policy for an annotation with an unknown one", async () => {
    await using api = await openMemoryApi();
    const annotations = { [volumeClaimTemplatesPolicyAnnotation]: "bogus" };
    await api.client.create(sandboxTemplateV1alpha1Type, { ...anAlphaTemplate(), metadata: { ...where, annotations } });
    const { spec } = await api.client.get(sandboxTemplateType, where);
    expect(spec.volumeClaimTemplatesPolicy).toBe("Disallowed");
  });
});
