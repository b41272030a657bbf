import { describe, expect, it } from "vitest";
import { sandboxClaimV1alpha1Type, sandboxTemplateV1alpha1Type } from "../../../api/conversion/v1alpha1.ts";
import { v1alpha1StateAnnotations, volumeClaimTemplatesPolicyAnnotation } from "../../../api/keys.ts";
import { sandboxClaimType } from "../../../api/sandbox-claim.ts";
import { sandboxTemplateType } from "../../../api/sandbox-template.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { anAlphaClaim, anAlphaTemplate } from "../../../test/support/versions.ts";

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

  it("is written when it is put back after it was made in the newer version, for now it has a state", async () => {
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
    expect(read.metadata.annotations).toEqual({ [volumeClaimTemplatesPolicyAnnotation]: "Disallowed" });
  });
});

describe("an object whose original of the older version cannot be read", () => {
  const annotations = { [v1alpha1StateAnnotations.SandboxClaim]: "{" };
  const claim = { metadata: { ...where, annotations }, spec: { warmPoolRef: { name: "p" } } };

  it("is served there by what its fields say, alone, in a list and on a watch, and keeps nobody from others", async () => {
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

describe("an object without a form in the stored version", () => {
  it("is refused with the reason that a webhook would give", async () => {
    await using api = await openMemoryApi();
    const annotations = { [volumeClaimTemplatesPolicyAnnotation]: "bogus" };
    const template = { ...anAlphaTemplate(), metadata: { ...where, annotations } };
    await expect(api.client.create(sandboxTemplateV1alpha1Type, template)).rejects.toThrow(
      "conversion webhook for extensions.agents.x-k8s.io/v1alpha1, Kind=SandboxTemplate failed: SandboxTemplate default/c",
    );
  });
});
