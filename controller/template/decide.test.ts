import { describe, expect, it } from "vitest";
import { templateRefHashLabel } from "../../api/keys.ts";
import type { ObjectMeta, Stored } from "../../api/meta.ts";
import { nameHash } from "../../api/names.ts";
import { type NetworkPolicy, type NetworkPolicySpec, networkPolicyType } from "../../api/network-policy.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import type { SandboxTemplateSpec } from "../../api/sandbox-template.ts";
import { controlledBy, noon, someoneElse } from "../../test/support/builders.ts";
import { aTemplate } from "../../test/support/extension-builders.ts";
import { decide } from "./decide.ts";
import { networkPolicySpec } from "./make-network-policy.ts";

const labels = { [templateRefHashLabel]: nameHash("tpl") };
const labelled = (spec: Partial<SandboxTemplateSpec> = {}) => aTemplate(spec, { labels });
const both = { podSelector: { matchLabels: labels }, policyTypes: ["Ingress", "Egress"] } as const;
const fromDesk = { from: [{ podSelector: { matchLabels: { app: "desk" } } }] };

const aPolicy = (
  spec: NetworkPolicySpec = networkPolicySpec(aTemplate()),
  metadata: Partial<ObjectMeta> = {},
): Stored<NetworkPolicy> => ({
  apiVersion: apiVersionOf(networkPolicyType),
  kind: networkPolicyType.kind,
  metadata: {
    name: "tpl-network-policy",
    namespace: "lab",
    uid: "uid-of-policy",
    resourceVersion: "1",
    creationTimestamp: noon,
    ownerReferences: [controlledBy(aTemplate())],
    ...metadata,
  },
  spec,
});

const specMadeFor = (spec: Partial<SandboxTemplateSpec>) => {
  const [action] = decide({ template: labelled(spec), policy: undefined });
  return action?.do === "createPolicy" ? action.policy.spec : undefined;
};

describe("a template without a policy", () => {
  it.each([undefined, "Managed" as const])("T1: gets one of its own (%s)", (networkPolicyManagement) => {
    const template = labelled(networkPolicyManagement && { networkPolicyManagement });
    expect(decide({ template, policy: undefined })).toEqual([
      {
        do: "createPolicy",
        policy: {
          apiVersion: "networking.k8s.io/v1",
          kind: "NetworkPolicy",
          metadata: {
            name: "tpl-network-policy",
            namespace: "lab",
            ownerReferences: [controlledBy(template)],
          },
          spec: {
            ...both,
            ingress: [
              {
                from: [
                  {
                    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "agent-sandbox-system" } },
                    podSelector: { matchLabels: { app: "sandbox-router" } },
                  },
                ],
              },
            ],
            egress: [
              {
                to: [
                  {
                    ipBlock: {
                      cidr: "0.0.0.0/0",
                      except: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"],
                    },
                  },
                  { ipBlock: { cidr: "::/0", except: ["fc00::/7", "fe80::/10"] } },
                ],
              },
            ],
          },
        },
      },
    ]);
  });

  it("T2: gets exactly its own rules, in both directions", () => {
    const networkPolicy = { ingress: [fromDesk], egress: [{ to: [{ ipBlock: { cidr: "192.0.2.0/24" } }] }] };
    expect(specMadeFor({ networkPolicy })).toEqual({ ...both, ...networkPolicy });
  });

  it("T3: lets nothing out when it speaks of what comes in only", () => {
    expect(specMadeFor({ networkPolicy: { ingress: [fromDesk] } })).toEqual({ ...both, ingress: [fromDesk] });
    expect(specMadeFor({ networkPolicy: {} })).toEqual(both);
  });

  it("T4: gets none when it manages none", () => {
    expect(decide({ template: labelled({ networkPolicyManagement: "Unmanaged" }), policy: undefined })).toEqual([]);
  });
});

describe("the policy of a template that manages none", () => {
  const template = labelled({ networkPolicyManagement: "Unmanaged" });

  it("T5: is deleted when it is its own, once", () => {
    const policy = aPolicy();
    expect(decide({ template, policy })).toEqual([{ do: "deletePolicy", policy }]);
    expect(decide({ template, policy: aPolicy(policy.spec, { deletionTimestamp: noon }) })).toEqual([]);
  });

  it.each([
    ["somebody else's", [someoneElse]],
    ["nobody's", []],
    ["an earlier template's of its name", [{ ...controlledBy(aTemplate()), uid: "uid-of-earlier" }]],
  ])("T6: stays when it is %s", (_, ownerReferences) => {
    expect(decide({ template, policy: aPolicy(undefined, { ownerReferences }) })).toEqual([]);
  });
});

describe("the policy of a template", () => {
  it("T7: follows its rules, and keeps what else is on it", () => {
    const policy = aPolicy(undefined, { labels: { team: "a" } });
    const template = labelled({ networkPolicy: { ingress: [fromDesk] } });
    expect(decide({ template, policy })).toEqual([
      { do: "replacePolicy", policy: { ...policy, spec: { ...both, ingress: [fromDesk] } } },
    ]);
  });

  it("T7: follows rules that let in one namespace where they let in all, and the other way round", () => {
    const desk = { podSelector: { matchLabels: { app: "desk" } } };
    const ofHome = { ingress: [{ from: [desk] }] };
    const ofAll = { ingress: [{ from: [{ ...desk, namespaceSelector: {} }] }] };
    for (const [before, after] of [[ofHome, ofAll] as const, [ofAll, ofHome] as const]) {
      const actions = decide({ template: labelled({ networkPolicy: after }), policy: aPolicy({ ...both, ...before }) });
      expect(actions).toMatchObject([{ do: "replacePolicy", policy: { spec: { ...both, ...after } } }]);
    }
  });

  it.each([
    ["somebody else's", [someoneElse], "ReplicaSet other"],
    ["nobody's", [], "nobody"],
  ])("T8: is left alone when it is %s, and that is a failure", (_, ownerReferences, owner) => {
    const [action] = decide({ template: labelled(), policy: aPolicy({}, { ownerReferences }) });
    expect(action).toMatchObject({ do: "refuse", why: expect.stringContaining("refusing to update") });
    expect(action).toMatchObject({ why: expect.stringContaining(owner) });
  });

  it("T9: is not written when it is as it should be", () => {
    expect(decide({ template: labelled(), policy: aPolicy() })).toEqual([]);
  });

  it("T9: is as it should be with a protocol that the API server has filled in", () => {
    const networkPolicy = { ingress: [{ ...fromDesk, ports: [{ port: 80 }] }] };
    const template = labelled({ networkPolicy });
    const ports = [{ port: 80, protocol: "TCP" }];
    const filledIn = { ...networkPolicySpec(template), ingress: [{ ...fromDesk, ports }] };
    expect(decide({ template, policy: aPolicy(filledIn) })).toEqual([]);
    const other = { ...filledIn, ingress: [{ ...fromDesk, ports: [{ port: 80, protocol: "UDP" }] }] };
    expect(decide({ template, policy: aPolicy(other) })).toHaveLength(1);
  });
});

it("T10: a template is labelled with its own hash, before anything else", () => {
  const actions = decide({ template: aTemplate({}, { labels: { team: "a" } }), policy: undefined });
  expect(actions.map((action) => action.do)).toEqual(["labelTemplate", "createPolicy"]);
  expect(actions[0]).toEqual({ do: "labelTemplate", value: nameHash("tpl") });
});
