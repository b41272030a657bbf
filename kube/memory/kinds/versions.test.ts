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

describe("an object without a form in the older version", () => {
  const annotations = { [v1alpha1StateAnnotations.SandboxClaim]: "{" };
  const claim = { metadata: { ...where, annotations }, spec: { warmPoolRef: { name: "p" } } };
  const refusal =
    "conversion webhook for extensions.agents.x-k8s.io/v1beta1, Kind=SandboxClaim failed: SandboxClaim default/c";

  it("is refused there, alone and in a list, and served in the other version", async () => {
    await using api = await openMemoryApi();
    await api.client.create(sandboxClaimType, claim);
    await expect(api.client.get(sandboxClaimV1alpha1Type, where)).rejects.toThrow(refusal);
    await expect(api.client.list(sandboxClaimV1alpha1Type)).rejects.toThrow(refusal);
    expect((await api.client.get(sandboxClaimType, where)).spec).toEqual(claim.spec);
  });

  it("ends watches of that version with the reason, and can be written all the same", async () => {
    await using api = await openMemoryApi();
    const { metadata } = await api.client.list(sandboxClaimType);
    const signal = AbortSignal.timeout(10_000);
    const watch = api.client.watch(sandboxClaimV1alpha1Type, { resourceVersion: metadata.resourceVersion }, signal);
    const events = Array.fromAsync(watch, ({ type, object }) => [type, "message" in object && object.message]);
    expect((await api.client.create(sandboxClaimType, claim)).spec).toEqual(claim.spec);
    expect(await events).toEqual([["ERROR", expect.stringContaining(refusal)]]);
  });
});
