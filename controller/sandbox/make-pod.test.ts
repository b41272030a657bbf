import { describe, expect, it } from "vitest";
import type { ObjectMeta } from "../../api/kinds/meta.ts";
import type { PodSpec } from "../../api/kinds/pod.ts";
import type { PodTemplate, SandboxSpec } from "../../api/kinds/sandbox.ts";
import {
  createdByLabel,
  memoryImageAnnotation,
  propagatedAnnotationsAnnotation,
  propagatedLabelsAnnotation,
  runHashAnnotation,
  sandboxNameHashLabel,
  signingGate,
  templateRefAnnotation,
  templateRefHashLabel,
  traceContextAnnotation,
  warmPoolSandboxLabel,
} from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { aPodOf, aSandbox, trackingLabelsOf } from "../../test/support/builders/builders.ts";
import { makePod } from "./make-pod.ts";
import { podMetadataPatch } from "./pod-metadata.ts";

const containers: PodSpec["containers"] = [{ name: "main", image: "busybox:1.36" }];
const template = (metadata: PodTemplate["metadata"] = {}): Partial<SandboxSpec> => ({
  podTemplate: { metadata, spec: { containers } },
});
const extensionOwner = (kind: string, version = "v1beta1") => ({
  apiVersion: `extensions.agents.x-k8s.io/${version}`,
  kind,
  name: "owner",
  uid: "uid-of-owner",
  controller: true,
});
const bothHashes = { [warmPoolSandboxLabel]: "11111111", [templateRefHashLabel]: "22222222" };
const tracking = trackingLabelsOf(aSandbox());

const labelsOf = (spec: Partial<SandboxSpec>, metadata: Partial<ObjectMeta> = {}) =>
  makePod(aSandbox(spec, metadata)).metadata.labels;

describe("a new Pod", () => {
  it("has the computed hash, for any value in the template", () => {
    expect(labelsOf(template({ labels: { [sandboxNameHashLabel]: "evil", tier: "gold" } }))).toEqual({
      ...tracking,
      tier: "gold",
    });
  });

  it("has no key that is the system's to give", () => {
    const labels = { "extensions.agents.x-k8s.io/x": "1" };
    const { metadata } = makePod(aSandbox(template({ labels, annotations: { [traceContextAnnotation]: "{}" } })));
    expect(metadata.labels).toEqual(tracking);
    expect(metadata).not.toHaveProperty("annotations");
  });

  it("takes no label from the Sandbox itself", () => {
    expect(labelsOf({}, { labels: { "agents.x-k8s.io/claim-uid": "1", team: "red" } })).toEqual(tracking);
  });

  it("belongs to no pool by a label of its template", () => {
    expect(labelsOf(template({ labels: { [warmPoolSandboxLabel]: "11111111" } }))).toEqual(tracking);
  });

  it("names no template when the Sandbox was not created from one", () => {
    expect(labelsOf({}, { labels: { [templateRefHashLabel]: "22222222" } })).toEqual(tracking);
  });

  it("names the template of a Sandbox that has lost the claim or pool it was made for", () => {
    const labels = { [templateRefHashLabel]: nameHash("tpl") };
    expect(labelsOf({}, { labels, annotations: { [templateRefAnnotation]: "tpl" } })).toEqual({
      ...tracking,
      ...labels,
    });
    expect(labelsOf({}, { labels, annotations: { [templateRefAnnotation]: "other" } })).toEqual(tracking);
  });

  it.each(["v1alpha1", "v1beta1"])("has both hashes for a pool's Sandbox (owner in %s)", (version) => {
    const metadata = { labels: bothHashes, ownerReferences: [extensionOwner("SandboxWarmPool", version)] };
    expect(labelsOf({}, metadata)).toEqual({ ...tracking, ...bothHashes });
  });

  it.each([
    { given: "go-client", labelled: "go-client" },
    { given: "weird", labelled: "unknown" },
  ])("labels the Pod of the creator $given with $labelled", ({ given, labelled }) => {
    expect(labelsOf({}, { labels: { [createdByLabel]: given } })).toEqual({ ...tracking, [createdByLabel]: labelled });
  });

  it("lists the keys from the template, sorted", () => {
    const { metadata } = makePod(aSandbox(template({ labels: { b: "2", a: "1" }, annotations: { note: "x" } })));
    expect(metadata.annotations).toEqual({
      note: "x",
      [propagatedLabelsAnnotation]: "a,b",
      [propagatedAnnotationsAnnotation]: "note",
    });
  });

  it("has a claim in the place of a volume of the same name, at the end", () => {
    const volumes = [
      { name: "data", emptyDir: {} },
      { name: "tmp", emptyDir: {} },
    ];
    const pod = makePod(
      aSandbox({
        podTemplate: { spec: { containers, volumes } },
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }],
      }),
    );
    expect(pod.spec?.volumes).toEqual([
      { name: "tmp", emptyDir: {} },
      { name: "data", persistentVolumeClaim: { claimName: "data-nova" } },
    ]);
  });

  it("has its template's volumes when there are no claims", () => {
    const volumes = [{ name: "tmp", emptyDir: {} }];
    expect(makePod(aSandbox({ podTemplate: { spec: { containers, volumes } } })).spec?.volumes).toEqual(volumes);
    expect(makePod(aSandbox()).spec).not.toHaveProperty("volumes");
  });

  it("has every field of its template, known here or not", () => {
    const spec = { containers, evictionResponders: [{ name: "x" }] };
    expect(makePod(aSandbox({ podTemplate: { spec } })).spec).toEqual(spec);
  });
});

it("a Pod has the scheduling gates of its template, except those of the system", () => {
  const other = { name: "example.com/quota" };
  const ours = { name: signingGate };
  const specOf = (...schedulingGates: readonly { readonly name: string }[]) =>
    makePod(aSandbox({ podTemplate: { spec: { containers, schedulingGates } } })).spec;
  expect(specOf(ours, other)).toEqual({ containers, schedulingGates: [other] });
  expect(specOf(ours)).toEqual({ containers });
  expect(specOf(other)).toEqual({ containers, schedulingGates: [other] });
});

describe("the metadata of an existing Pod", () => {
  const patch = (
    sandbox: ReturnType<typeof aSandbox>,
    labels: Readonly<Record<string, string>>,
    annotations: Readonly<Record<string, string>> = {},
  ) => podMetadataPatch(sandbox, aPodOf(sandbox, { labels: { ...tracking, ...labels }, annotations }));

  it("leaves the pool when a claim takes the Sandbox", () => {
    const claimed = aSandbox({}, { labels: bothHashes, ownerReferences: [extensionOwner("SandboxClaim")] });
    expect(patch(claimed, bothHashes)).toEqual({ labels: { [warmPoolSandboxLabel]: null } });
  });

  it("keeps the label to its NetworkPolicy when the Sandbox loses it, its owner, or both", () => {
    const ownerReferences = [extensionOwner("SandboxClaim")];
    const worn = { [templateRefHashLabel]: "22222222" };
    expect(patch(aSandbox({}, { ownerReferences }), worn)).toBeUndefined();
    expect(patch(aSandbox({}, { labels: worn }), worn)).toBeUndefined();
    expect(patch(aSandbox(), worn, { [propagatedLabelsAnnotation]: templateRefHashLabel })).toEqual({
      annotations: { [propagatedLabelsAnnotation]: "" },
    });
  });

  it("loses a label that the template once gave, and no label of other writers", () => {
    const sandbox = aSandbox(template({ labels: { a: "1" } }));
    expect(patch(sandbox, { a: "1", b: "2", other: "3" }, { [propagatedLabelsAnnotation]: "a,b" })).toEqual({
      labels: { b: null },
      annotations: { [propagatedLabelsAnnotation]: "a" },
    });
  });

  it("has an empty list, rather than none, when the last label was removed", () => {
    expect(patch(aSandbox(), { b: "2" }, { [propagatedLabelsAnnotation]: "b" })).toEqual({
      labels: { b: null },
      annotations: { [propagatedLabelsAnnotation]: "" },
    });
  });

  it("keeps the annotations of hibernation, also if somebody has put them on the list", () => {
    const keys = { [memoryImageAnnotation]: "pod-p1", [runHashAnnotation]: "h" };
    const forged = patch(aSandbox(), {}, { ...keys, [propagatedAnnotationsAnnotation]: Object.keys(keys).join() });
    expect(forged).toEqual({ annotations: { [propagatedAnnotationsAnnotation]: "" } });
  });

  it("loses the system's keys that an older release copied, even if the template still has them", () => {
    const stale = "agents.x-k8s.io/claim-uid";
    const sandbox = aSandbox(template({ labels: { [stale]: "1" } }));
    const listed = `${sandboxNameHashLabel},${stale}`;
    expect(patch(sandbox, { [stale]: "1" }, { [propagatedLabelsAnnotation]: listed })).toEqual({
      labels: { [stale]: null },
      annotations: { [propagatedLabelsAnnotation]: "" },
    });
  });

  it.each([
    { given: { [createdByLabel]: "go-client" }, has: {}, becomes: { [createdByLabel]: "go-client" } },
    { given: {}, has: { [createdByLabel]: "go-client" }, becomes: { [createdByLabel]: null } },
  ])("follows the Sandbox's creator", ({ given, has, becomes }) => {
    expect(patch(aSandbox({}, { labels: given }), has)).toEqual({ labels: becomes });
  });

  it("follows the template's values", () => {
    const sandbox = aSandbox(template({ annotations: { note: "new" } }));
    const lists = { [propagatedAnnotationsAnnotation]: "note" };
    expect(patch(sandbox, {}, { note: "old", ...lists })).toEqual({ annotations: { note: "new" } });
  });

  it("needs no patch when a Pod is as it was made", () => {
    const sandbox = aSandbox(template({ labels: { a: "1" }, annotations: { note: "x" } }));
    const { labels, annotations } = makePod(sandbox).metadata;
    expect(patch(sandbox, labels ?? {}, annotations)).toBeUndefined();
  });
});
