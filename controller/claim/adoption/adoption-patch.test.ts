import { describe, expect, it } from "vitest";
import type { ObjectMeta, Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import {
  claimUidLabel,
  createdByLabel,
  launchTypeLabel,
  podNameAnnotation,
  safeToEvictAnnotation,
  templateRefAnnotation,
  templateRefHashLabel,
  traceContextAnnotation,
} from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import { mergePatch } from "../../../apiserver/patch/merge-patch.ts";
import { controlledBy } from "../../../test/support/builders/builders.ts";
import { aSandboxClaim } from "../../../test/support/builders/claim-builders.ts";
import { aPool, aTemplate, templatePodSpec } from "../../../test/support/builders/extension-builders.ts";
import { currentBlueprint } from "../../blueprint/current-blueprint.ts";
import { makeMember } from "../../warm-pool/resize/make-member.ts";
import { adoptionPatch } from "./adoption-patch.ts";

const refHash = nameHash("tpl");

/** A member as the pool makes it, once it is stored and has a Pod. */
function stored(template = aTemplate(), metadata: Partial<ObjectMeta> = {}): Stored<Sandbox> {
  const made = makeMember("warm-1", aPool(), { object: template, blueprint: currentBlueprint(template) }, true);
  const identity = { name: "warm-1", uid: "uid-of-warm-1", resourceVersion: "7", creationTimestamp: "" };
  return { ...made, metadata: { ...made.metadata, ...identity, ...metadata } };
}

/** The sandbox after its adoption, as the server would store it. */
function adopted(
  sandbox: Stored<Sandbox>,
  given: { readonly claim?: Stored<SandboxClaim>; readonly template?: Stored<SandboxTemplate> | undefined } = {},
): Sandbox {
  const { claim, template } = { claim: aSandboxClaim(), template: aTemplate(), ...given };
  const onTheWire = JSON.stringify(adoptionPatch(sandbox, claim, template));
  return mergePatch(sandbox, JSON.parse(onTheWire)) as Sandbox;
}

const withTemplateMeta = (metadata: SandboxTemplate["spec"]["podTemplate"]["metadata"]) =>
  aTemplate({ podTemplate: { spec: templatePodSpec, ...(metadata && { metadata }) } });

describe("a sandbox that a claim adopts from a pool", () => {
  it("is labelled as launched warm, whatever its label was", () => {
    const { labels } = stored().metadata;
    const sandbox = stored(aTemplate(), { labels: { ...labels, [launchTypeLabel]: "cold" } });
    expect(adopted(sandbox).metadata.labels?.[launchTypeLabel]).toBe("warm");
  });

  it("belongs to the claim alone, and keeps no label or owner of the pool", () => {
    const claim = aSandboxClaim();
    const sandbox = stored();
    const { metadata, spec } = adopted(sandbox, { claim });
    expect(metadata.labels).toEqual({
      [launchTypeLabel]: "warm",
      [claimUidLabel]: claim.metadata.uid,
      [templateRefHashLabel]: refHash,
    });
    expect(metadata.ownerReferences).toEqual([controlledBy(claim)]);
    expect(metadata.annotations).toEqual({ [templateRefAnnotation]: "tpl", [podNameAnnotation]: "warm-1" });
    expect(spec).toEqual({
      ...sandbox.spec,
      podTemplate: {
        metadata: { labels: { [claimUidLabel]: claim.metadata.uid, [templateRefHashLabel]: refHash }, annotations: {} },
        spec: sandbox.spec.podTemplate.spec,
      },
    });
  });

  it("is taken only as it was seen", () => {
    expect(adoptionPatch(stored(), aSandboxClaim(), aTemplate())).toMatchObject({ metadata: { resourceVersion: "7" } });
  });

  it("has its own name as the name of its Pod, instead of any earlier one", () => {
    const sandbox = stored(aTemplate(), { annotations: { [podNameAnnotation]: "another" } });
    expect(adopted(sandbox).metadata.annotations?.[podNameAnnotation]).toBe("warm-1");
  });

  const evictable = (sandbox: Sandbox) => sandbox.spec.podTemplate.metadata?.annotations?.[safeToEvictAnnotation];
  const firm = withTemplateMeta({ annotations: { [safeToEvictAnnotation]: "false" } });
  const wantsEviction = aSandboxClaim({ additionalPodMetadata: { annotations: { [safeToEvictAnnotation]: "true" } } });

  it("may not be evicted any more", () => {
    expect(evictable(stored())).toBe("true");
    expect(evictable(adopted(stored()))).toBeUndefined();
    expect(evictable(adopted(stored(), { template: undefined }))).toBeUndefined();
  });

  it("keeps the setting of its template, also when the template is not in view", () => {
    expect(evictable(adopted(stored(firm), { template: firm }))).toBe("false");
    expect(evictable(adopted(stored(firm), { template: undefined }))).toBe("false");
  });

  it("keeps the setting of its claim", () => {
    expect(evictable(adopted(stored(), { claim: wantsEviction }))).toBe("true");
    expect(evictable(adopted(stored(), { claim: wantsEviction, template: undefined }))).toBe("true");
  });

  it("names the claim's creator, on itself and on its Pod template, or no creator", () => {
    const creators = ({ metadata, spec }: Sandbox) => [
      metadata.labels?.[createdByLabel],
      spec.podTemplate.metadata?.labels?.[createdByLabel],
    ];
    const byClient = aSandboxClaim({}, { labels: { [createdByLabel]: "go-client" } });
    expect(creators(stored())[0]).toBe("controller");
    expect(creators(adopted(stored(), { claim: byClient }))).toEqual(["go-client", "go-client"]);
    expect(creators(adopted(stored()))).toEqual([undefined, undefined]);
    const template = withTemplateMeta({ labels: { [createdByLabel]: "controller" } });
    expect(creators(adopted(stored(), { template }))).toEqual([undefined, undefined]);
  });

  it("has the current metadata of its template, with the additions of the claim", () => {
    const template = withTemplateMeta({ labels: { tier: "gold" }, annotations: { note: "new" } });
    const claim = aSandboxClaim({
      additionalPodMetadata: { labels: { "sandbox.users.io/team": "red" }, annotations: { more: "1" } },
    });
    const { labels, annotations } = adopted(stored(), { claim, template }).spec.podTemplate.metadata ?? {};
    expect(labels).toMatchObject({ tier: "gold", "sandbox.users.io/team": "red" });
    expect(annotations).toEqual({ note: "new", more: "1" });
  });

  it("continues the trace of the claim", () => {
    const claim = aSandboxClaim({}, { annotations: { [traceContextAnnotation]: "{}" } });
    expect(adopted(stored(), { claim }).metadata.annotations?.[traceContextAnnotation]).toBe("{}");
  });
});
