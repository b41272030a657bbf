import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { VolumeClaimTemplate } from "../../api/kinds/sandbox.ts";
import type { SandboxTemplate, SandboxTemplateSpec } from "../../api/kinds/sandbox-template.ts";
import { podTemplateHashLabel, templateHashLabel, templateRefHashLabel } from "../../api/rules/keys.ts";
import {
  aMember,
  aTemplate,
  type MemberParts,
  relabelled,
  templatePodSpec,
} from "../../test/support/builders/extension-builders.ts";
import { currentBlueprint } from "./current-blueprint.ts";
import { isStale } from "./staleness.ts";

const volume = (name: string, storage = "1Gi", labels = {}): VolumeClaimTemplate => ({
  metadata: { name, labels },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
});
const withPod = (pod: object): Partial<SandboxTemplateSpec> => ({
  podTemplate: { spec: { ...templatePodSpec, ...pod } },
});

const asUser = (runAsUser: number) => ({ securityContext: { runAsUser } });
const [container = { name: "main", image: "" }] = templatePodSpec.containers;
const sayingNothing = {
  hostNetwork: false,
  schedulerName: "",
  containers: [{ ...container, tty: false, imagePullPolicy: "" }],
  volumes: [],
};

const staleFor = (template: Stored<SandboxTemplate>, parts: MemberParts) =>
  isStale(aMember(parts), currentBlueprint(template));
const staleAfter = (was: Partial<SandboxTemplateSpec>, is: Partial<SandboxTemplateSpec>) =>
  staleFor(aTemplate(is), { template: aTemplate(was) });

describe("a warm sandbox is as its template wants it", () => {
  it.each<[string, Partial<SandboxTemplateSpec>, Partial<SandboxTemplateSpec>]>([
    ["nothing has changed", {}, {}],
    [
      "only labels and annotations of the Pod template changed",
      {},
      { podTemplate: { spec: templatePodSpec, metadata: { labels: { a: "b" }, annotations: { c: "d" } } } },
    ],
    [
      "only labels of a volume claim template changed",
      { volumeClaimTemplates: [volume("data")] },
      { volumeClaimTemplates: [volume("data", "1Gi", { a: "b" })] },
    ],
    ["only the way changed in which it falls asleep", {}, { autoSuspension: { inactivityTimeoutSeconds: 9 } }],
    ["its memory is to be kept from now on", {}, { suspensionStrategy: { type: "Hibernate" } }],
    [
      "a quantity is spelled another way",
      { volumeClaimTemplates: [volume("data", "1Gi")] },
      { volumeClaimTemplates: [volume("data", "1024Mi")] },
    ],
    ["its maker left out what says nothing", withPod({}), withPod(sayingNothing)],
    ["the dnsPolicy that it was given stands for none", withPod({ dnsPolicy: "" }), {}],
  ])("when %s", (_, was, is) => {
    expect(staleAfter(was, is)).toBe(false);
  });

  it("when it lacks the hashes of the content, as those of older releases do", () => {
    const labels = relabelled(aMember(), { [templateHashLabel]: undefined, [podTemplateHashLabel]: undefined });
    expect(staleFor(aTemplate(), { metadata: { labels } })).toBe(false);
  });

  it("when another program has computed its hash", () => {
    const labels = relabelled(aMember(), { [templateHashLabel]: "01234567" });
    expect(staleFor(aTemplate(), { metadata: { labels } })).toBe(false);
  });

  it("when its hash is the current one, whatever has been filled in since", () => {
    expect(staleFor(aTemplate(), { spec: withPod({ hostname: "filled-in" }) })).toBe(false);
  });
});

describe("a warm sandbox is stale", () => {
  it.each<[string, Partial<SandboxTemplateSpec>, Partial<SandboxTemplateSpec>]>([
    ["the image changed", {}, withPod({ containers: [{ name: "main", image: "busybox:1.37" }] })],
    ["a volume was added", {}, { volumeClaimTemplates: [volume("data")] }],
    ["a volume was removed", { volumeClaimTemplates: [volume("data")] }, {}],
    [
      "a volume changed",
      { volumeClaimTemplates: [volume("data", "1Gi")] },
      { volumeClaimTemplates: [volume("data", "2Gi")] },
    ],
    [
      "volumes changed places",
      { volumeClaimTemplates: [volume("a"), volume("b")] },
      { volumeClaimTemplates: [volume("b"), volume("a")] },
    ],
    ["a volume has another name", { volumeClaimTemplates: [volume("a")] }, { volumeClaimTemplates: [volume("b")] }],
    ["a Service is wanted", {}, { service: true }],
    ["a Service is unwanted", {}, { service: false }],
    ["no user is set any more, and it ran as root", withPod(asUser(0)), withPod({})],
    ["it is to have a node with a label, be it an empty one", withPod({}), withPod({ nodeSelector: { gpu: "" } })],
    ["the dnsPolicy changed", withPod({ dnsPolicy: "Default" }), withPod({ dnsPolicy: "ClusterFirst" })],
    ["the built-in policy no longer stands in the way of the cluster's resolvers", {}, { networkPolicy: {} }],
  ])("when %s", (_, was, is) => {
    expect(staleAfter(was, is)).toBe(true);
  });

  it("when it was made from another template, though of the same content", () => {
    expect(staleFor(aTemplate({}, { name: "other" }), {})).toBe(true);
  });

  it.each([undefined, "deadbeef"])("when its template is %s", (hash) => {
    const labels = relabelled(aMember(), { [templateRefHashLabel]: hash });
    expect(staleFor(aTemplate(), { metadata: { labels } })).toBe(true);
  });

  it("when it has no owner and differs, for any hash", () => {
    const metadata = { ownerReferences: [] };
    expect(staleFor(aTemplate(), { metadata, spec: withPod({ hostname: "mine" }) })).toBe(true);
    expect(staleFor(aTemplate(), { metadata })).toBe(false);
  });
});

it("a sandbox is compared with each version of its template once", () => {
  const former = aMember({ template: aTemplate(withPod({ hostname: "former" })) });
  let reads = 0;
  const spec = {
    ...former.spec,
    get podTemplate() {
      reads += 1;
      return former.spec.podTemplate;
    },
  };
  const member = { ...former, spec };
  for (const hostname of ["b", "c"]) {
    const readsBefore = reads;
    const current = currentBlueprint(aTemplate(withPod({ hostname })));
    expect(isStale(member, current)).toBe(true);
    expect(isStale({ ...member }, current)).toBe(true);
    expect(reads).toBe(readsBefore + 1);
  }
});
