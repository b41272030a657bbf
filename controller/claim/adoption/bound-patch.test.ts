import { describe, expect, it } from "vitest";
import {
  createdByLabel,
  launchTypeLabel,
  templateRefAnnotation,
  templateRefHashLabel,
} from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import { aClaimed, aSandboxClaim } from "../../../test/support/builders/claim-builders.ts";
import { aTemplate, relabelled, templatePodSpec } from "../../../test/support/builders/extension-builders.ts";
import { boundPatch } from "./bound-patch.ts";

const claim = aSandboxClaim();
const sandbox = aClaimed(claim);
const unlaunched = aClaimed(claim, { labels: relabelled(sandbox, { [launchTypeLabel]: undefined }) });
const labelled = (labels: Record<string, string>) =>
  aTemplate({ podTemplate: { metadata: { labels }, spec: templatePodSpec } });

describe("a bound sandbox", () => {
  it("is left alone while nothing differs", () => {
    expect(boundPatch(sandbox, claim, aTemplate(), "cold")).toBeUndefined();
    expect(boundPatch(sandbox, claim, undefined, "cold")).toBeUndefined();
  });

  it.each(["warm", "cold"] as const)("without a launch type gets %s", (type) => {
    const patch = { metadata: { labels: { [launchTypeLabel]: type } } };
    expect(boundPatch(unlaunched, claim, aTemplate(), type)).toEqual(patch);
    expect(boundPatch(unlaunched, claim, undefined, type)).toEqual(patch);
  });

  it("keeps its launch type", () => {
    expect(boundPatch(sandbox, claim, aTemplate(), "warm")).toBeUndefined();
  });

  it("gets new labels of its template, and no change of the Pod spec", () => {
    const template = aTemplate({
      podTemplate: { metadata: { labels: { tier: "gold" } }, spec: { ...templatePodSpec, hostname: "new" } },
    });
    expect(boundPatch(sandbox, claim, template, "cold")).toEqual({
      spec: { podTemplate: { metadata: { labels: { tier: "gold" } } } },
    });
  });

  it("loses metadata that template and claim no longer have", () => {
    const podTemplate = { spec: templatePodSpec, metadata: { labels: { gone: "1" }, annotations: { gone: "2" } } };
    expect(boundPatch({ ...sandbox, spec: { podTemplate } }, claim, aTemplate(), "cold")).toMatchObject({
      spec: { podTemplate: { metadata: { labels: { gone: null }, annotations: { gone: null } } } },
    });
  });

  it.each(["labels", "annotations"])(
    "keeps %s that the claim had before its template got them with other values",
    (field) => {
      const key = "sandbox.users.io/x";
      const asking = aSandboxClaim({ additionalPodMetadata: { [field]: { [key]: "claim" } } });
      const had = sandbox.spec.podTemplate.metadata;
      const metadata = { ...had, [field]: { ...had?.[field as "labels"], [key]: "claim" } };
      const bound = { ...sandbox, spec: { podTemplate: { ...sandbox.spec.podTemplate, metadata } } };
      const edited = aTemplate({
        podTemplate: {
          metadata: { labels: { tier: "gold" }, ...{ [field]: { [key]: "template", tier: "gold" } } },
          spec: templatePodSpec,
        },
      });
      const patch = boundPatch(bound, asking, edited, "cold");
      expect(patch?.spec).toMatchObject({ podTemplate: { metadata: { [field]: { tier: "gold" } } } });
      expect(JSON.stringify(patch)).not.toContain(key);
      const unasked = boundPatch(bound, aSandboxClaim(), edited, "cold");
      expect(unasked?.spec).toMatchObject({ podTemplate: { metadata: { [field]: { [key]: "template" } } } });
    },
  );

  it("stays as it is when the claim is edited to contradict the template, which is tried again", () => {
    const contrary = aSandboxClaim({ additionalPodMetadata: { labels: { "sandbox.users.io/x": "claim" } } });
    const patch = (value: string) => boundPatch(sandbox, contrary, labelled({ "sandbox.users.io/x": value }), "cold");
    expect(() => patch("template")).toThrow(
      "label sandbox.users.io/x of the SandboxTemplate may not be overridden by the SandboxClaim",
    );
    expect(() => patch("claim")).not.toThrow();
  });

  it("follows its claim to another creator, and takes the hash of its template where it has another", () => {
    const byClient = aSandboxClaim({}, { labels: { [createdByLabel]: "python-client" } });
    const labels = { [templateRefHashLabel]: nameHash("other"), [createdByLabel]: "python-client" };
    expect(boundPatch(sandbox, byClient, aTemplate({}, { name: "other" }), "cold")).toEqual({
      metadata: { labels },
      spec: { podTemplate: { metadata: { labels } } },
    });
  });

  it("records its template where an older release did not, so that it keeps its policy without the claim", () => {
    const { [templateRefAnnotation]: _, ...annotations } = sandbox.metadata.annotations ?? {};
    const unrecorded = { ...sandbox, metadata: { ...sandbox.metadata, annotations } };
    expect(boundPatch(unrecorded, claim, aTemplate(), "cold")).toEqual({
      metadata: { annotations: { [templateRefAnnotation]: "tpl" } },
    });
  });
});
