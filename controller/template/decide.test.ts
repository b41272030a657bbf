import { describe, expect, it } from "vitest";
import type { ObjectMeta, Stored } from "../../api/kinds/meta.ts";
import { type NetworkPolicy, type NetworkPolicySpec, networkPolicyType } from "../../api/kinds/network-policy.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxTemplateSpec } from "../../api/kinds/sandbox-template.ts";
import { policyTemplateAnnotation, templateRefHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { aSandbox, controlledBy, noon, someoneElse } from "../../test/support/builders/builders.ts";
import { aTemplate } from "../../test/support/builders/extension-builders.ts";
import { decide, type Observed } from "./decide.ts";
import { networkPolicySpec } from "./make-network-policy.ts";

const labels = { [templateRefHashLabel]: nameHash("tpl") };
const labelled = (spec: Partial<SandboxTemplateSpec> = {}) => aTemplate(spec, { labels });
const aPoolOwner = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxWarmPool",
  name: "warm",
  uid: "w",
  controller: true,
};
const someClaim = { ...aPoolOwner, kind: "SandboxClaim", name: "mine", uid: "m" };

/** The actions for the template `tpl`, whose policy has no users unless the test adds some. */
const act = (observed: Pick<Observed, "template" | "policy"> & Partial<Observed>) =>
  decide({ namespace: "lab", name: "tpl", users: { sandboxes: [], pods: [] }, lost: undefined, ...observed });

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
  const [action] = act({ template: labelled(spec), policy: undefined });
  return action?.do === "createPolicy" ? action.policy.spec : undefined;
};

describe("a template without a policy", () => {
  it.each([undefined, "Managed" as const])("gets one of its own (%s)", (networkPolicyManagement) => {
    const template = labelled(networkPolicyManagement && { networkPolicyManagement });
    expect(act({ template, policy: undefined })).toEqual([
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

  it("gets exactly its own rules, in both directions", () => {
    const networkPolicy = { ingress: [fromDesk], egress: [{ to: [{ ipBlock: { cidr: "192.0.2.0/24" } }] }] };
    expect(specMadeFor({ networkPolicy })).toEqual({ ...both, ...networkPolicy });
  });

  it("lets nothing out when it speaks of what comes in only", () => {
    expect(specMadeFor({ networkPolicy: { ingress: [fromDesk] } })).toEqual({ ...both, ingress: [fromDesk] });
    expect(specMadeFor({ networkPolicy: {} })).toEqual(both);
  });

  it("gets none when it manages none", () => {
    expect(act({ template: labelled({ networkPolicyManagement: "Unmanaged" }), policy: undefined })).toEqual([]);
  });
});

describe("the policy of a template that manages none", () => {
  const template = labelled({ networkPolicyManagement: "Unmanaged" });

  it("is deleted when it is its own, once", () => {
    const policy = aPolicy();
    expect(act({ template, policy })).toEqual([{ do: "deletePolicy", policy }]);
    expect(act({ template, policy: aPolicy(policy.spec, { deletionTimestamp: noon }) })).toEqual([]);
  });

  it.each([
    ["another owner's", [someoneElse]],
    ["no owner's", []],
    ["an earlier template's of its name", [{ ...controlledBy(aTemplate()), uid: "uid-of-earlier" }]],
  ])("stays when it is %s", (_, ownerReferences) => {
    expect(act({ template, policy: aPolicy(undefined, { ownerReferences }) })).toEqual([]);
  });
});

describe("the policy of a template", () => {
  it("follows its rules, and keeps what else is on it", () => {
    const policy = aPolicy(undefined, { labels: { team: "a" } });
    const template = labelled({ networkPolicy: { ingress: [fromDesk] } });
    expect(act({ template, policy })).toEqual([
      { do: "replacePolicy", policy: { ...policy, spec: { ...both, ingress: [fromDesk] } } },
    ]);
  });

  it("follows rules that let in one namespace where they let in all, and the other way round", () => {
    const desk = { podSelector: { matchLabels: { app: "desk" } } };
    const ofHome = { ingress: [{ from: [desk] }] };
    const ofAll = { ingress: [{ from: [{ ...desk, namespaceSelector: {} }] }] };
    for (const [before, after] of [[ofHome, ofAll] as const, [ofAll, ofHome] as const]) {
      const actions = act({ template: labelled({ networkPolicy: after }), policy: aPolicy({ ...both, ...before }) });
      expect(actions).toMatchObject([{ do: "replacePolicy", policy: { spec: { ...both, ...after } } }]);
    }
  });

  it.each([
    ["another owner's", [someoneElse], "ReplicaSet other"],
    ["no owner's", [], "no object"],
  ])("is left alone when it is %s, and that is a failure", (_, ownerReferences, owner) => {
    const [action] = act({ template: labelled(), policy: aPolicy({}, { ownerReferences }) });
    expect(action).toMatchObject({ do: "refuse", why: expect.stringContaining("refusing to update") });
    expect(action).toMatchObject({ why: expect.stringContaining(owner) });
  });

  it("is not written when it is as it should be", () => {
    expect(act({ template: labelled(), policy: aPolicy() })).toEqual([]);
  });

  it("is as it should be with a protocol that the API server has filled in", () => {
    const networkPolicy = { ingress: [{ ...fromDesk, ports: [{ port: 80 }] }] };
    const template = labelled({ networkPolicy });
    const ports = [{ port: 80, protocol: "TCP" }];
    const filledIn = { ...networkPolicySpec(template), ingress: [{ ...fromDesk, ports }] };
    expect(act({ template, policy: aPolicy(filledIn) })).toEqual([]);
    const other = { ...filledIn, ingress: [{ ...fromDesk, ports: [{ port: 80, protocol: "UDP" }] }] };
    expect(act({ template, policy: aPolicy(other) })).toHaveLength(1);
  });
});

it("a template is labelled with its own hash, before anything else", () => {
  const actions = act({ template: aTemplate({}, { labels: { team: "a" } }), policy: undefined });
  expect(actions.map((action) => action.do)).toEqual(["labelTemplate", "createPolicy"]);
  expect(actions[0]).toEqual({ do: "labelTemplate", value: nameHash("tpl") });
});

describe("the users of a policy", () => {
  const member = (number: number, metadata: Partial<ObjectMeta> = {}) =>
    aSandbox({}, { name: `s-${number}`, uid: `uid-${number}`, ownerReferences: [aPoolOwner], ...metadata });
  const many = (count: number) => Array.from({ length: count }, (_, number) => member(number));
  const reference = ({ metadata: { name, uid } }: Stored<Sandbox>) => ({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    name,
    uid,
  });
  const owned = (...holders: readonly Stored<Sandbox>[]) => [controlledBy(aTemplate()), ...holders.map(reference)];
  const ownersAfter = (observed: Parameters<typeof act>[0]) => {
    const actions = act(observed);
    expect(actions).toHaveLength(1);
    const [action] = actions;
    return action?.do === "replacePolicy" ? action.policy.metadata.ownerReferences : undefined;
  };

  it("own it beside its template, which stays in control, 16 of them at most", () => {
    const sandboxes = many(40);
    const owners = ownersAfter({ template: labelled(), policy: aPolicy(), users: { sandboxes, pods: [] } });
    expect(owners).toEqual(owned(...sandboxes.slice(0, 16)));
    expect(ownersAfter({ template: labelled(), policy: aPolicy(), users: { sandboxes: many(1), pods: [] } })).toEqual(
      owned(member(0)),
    );
  });

  it("are written again only once fewer than eight of them are left", () => {
    const policyOf = (...holders: readonly Stored<Sandbox>[]) =>
      aPolicy(undefined, { ownerReferences: owned(...holders) });
    const sandboxes = many(40);
    const users = { sandboxes, pods: [] };
    expect(act({ template: labelled(), policy: policyOf(...sandboxes.slice(20, 28)), users })).toEqual([]);
    const seven = sandboxes.slice(20, 27);
    const owners = ownersAfter({ template: labelled(), policy: policyOf(...seven, member(99)), users });
    expect(owners).toEqual(owned(...seven, ...sandboxes.slice(0, 9)));
    expect(act({ template: labelled(), policy: policyOf(...seven), users: { sandboxes: seven, pods: [] } })).toEqual(
      [],
    );
  });

  it("are first those of claims, for they outlive a template", () => {
    const bound = member(50, { ownerReferences: [someClaim] });
    const owners = ownersAfter({
      template: labelled(),
      policy: aPolicy(),
      users: { sandboxes: [...many(40), bound], pods: [] },
    });
    expect(owners?.slice(0, 2)).toEqual(owned(bound));
  });

  it("are all owners that are left without a template, and references of others stay", () => {
    const other = { apiVersion: "v1", kind: "ConfigMap", name: "rules", uid: "uid-rules" };
    const policy = aPolicy(undefined, { ownerReferences: [...owned(), other] });
    const sandboxes = many(150);
    const owners = ownersAfter({ template: undefined, policy, users: { sandboxes, pods: [] } });
    expect(owners).toEqual([other, ...sandboxes.slice(0, 100).map(reference)]);
  });

  it("keep nothing of the policy that another has by the same name", () => {
    const users = { sandboxes: many(1), pods: [] };
    const policy = aPolicy(undefined, { ownerReferences: [] });
    expect(act({ template: undefined, policy, users })).toEqual([]);
    expect(act({ template: undefined, policy, users, lost: policy.spec ?? {} })).toMatchObject([{ do: "refuse" }]);
  });
});

describe("a policy that a former template of the name has left", () => {
  const left = (ownerReferences: ObjectMeta["ownerReferences"] = []) =>
    aPolicy(undefined, { ownerReferences, annotations: { [policyTemplateAnnotation]: "tpl" } });

  it("goes when the new one manages none", () => {
    const policy = left();
    expect(act({ template: labelled({ networkPolicyManagement: "Unmanaged" }), policy })).toEqual([
      { do: "deletePolicy", policy },
    ]);
  });

  it("is the new one's, also before the garbage collector has taken the former owner off", () => {
    const former = { ...controlledBy(aTemplate()), uid: "uid-of-earlier" };
    for (const policy of [left(), left([former])]) {
      const [action] = act({ template: labelled(), policy });
      expect(action).toMatchObject({ do: "replacePolicy" });
      expect(action?.do === "replacePolicy" && action.policy.metadata.ownerReferences).toEqual([
        controlledBy(aTemplate()),
      ]);
    }
  });

  it("is not deleted if another owner controls it now", () => {
    expect(act({ template: labelled(), policy: left([someoneElse]) })).toMatchObject([{ do: "refuse" }]);
  });

  it("goes when no users are left and its owners were orphaned", () => {
    const policy = left();
    expect(act({ template: undefined, policy })).toEqual([{ do: "deletePolicy", policy }]);
  });
});
