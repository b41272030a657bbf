import { readFileSync } from "node:fs";
import { celEnv, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { sandboxClaimType } from "../api/kinds/sandbox-claim.ts";
import { defaultLabelDomains } from "../controller/claim/create/allowed-label-domains.ts";
import { validateMetadata } from "../controller/claim/create/validate-metadata.ts";
import { networkPolicySpec } from "../controller/template/make-network-policy.ts";
import { aTemplate } from "./support/builders/extension-builders.ts";

const page = readFileSync(new URL("../docs/guide/claims-and-pools.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
const blockWith = (word: string) => blocks.find((block) => block.includes(word)) ?? "";

interface AdmissionPolicy {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly policyName?: string;
    readonly matchConstraints: { readonly resourceRules: readonly Record<string, readonly string[]>[] };
    readonly validations: readonly { readonly expression: string }[];
  };
}

const [policy, binding] = parseAllDocuments(blockWith("ValidatingAdmissionPolicy")).map(
  (document): AdmissionPolicy => document.toJS(),
);

/** Whether the policy of the page admits a claim with this spec. */
function admits(spec: object): boolean {
  const expressions = policy?.spec.validations.map(({ expression }) => expression) ?? [];
  const environment = celEnv({ funcs: [...strings] });
  return expressions.every(
    (expression) => plan(environment, parse(expression))({ object: { spec } } as never) === true,
  );
}

const adding = (...keys: readonly string[]) => ({
  additionalPodMetadata: { annotations: Object.fromEntries(keys.map((key) => [key, "x"])) },
});

describe("the admission policy for annotations of claims in the guide", () => {
  it("is bound, and matches claims in every version", () => {
    expect(binding?.spec.policyName).toBe(policy?.metadata.name);
    expect(policy?.spec.matchConstraints.resourceRules).toEqual([
      {
        apiGroups: [sandboxClaimType.group],
        apiVersions: ["v1alpha1", "v1beta1"],
        resources: [sandboxClaimType.plural],
        operations: ["CREATE", "UPDATE"],
      },
    ]);
  });

  it("admits claims without annotations, and with annotations of the listed domains", () => {
    expect([{}, { additionalPodMetadata: {} }, adding()].map(admits)).toEqual([true, true, true]);
    expect(admits(adding("sandbox.users.io/team", "podsnapshot.gke.io/ps-name"))).toBe(true);
  });

  it("rejects annotations that the controller permits and other programs act on", () => {
    for (const key of ["k8s.v1.cni.cncf.io/networks", "iam.amazonaws.com/role", "sidecar.istio.io/inject", "plain"]) {
      const spec = adding(key);
      expect(() => validateMetadata(spec.additionalPodMetadata, defaultLabelDomains)).not.toThrow();
      expect(admits(spec)).toBe(false);
      expect(admits(adding("sandbox.users.io/team", key))).toBe(false);
    }
  });
});

describe("the network policy in the guide", () => {
  it("is the default one, with further ranges that may be private", () => {
    const [template] = parseAllDocuments(blockWith("networkPolicy:")).map((document) => document.toJS());
    const { ingress, egress = [] } = networkPolicySpec(aTemplate());
    expect(template.spec.networkPolicy.ingress).toEqual(ingress);
    const [shown] = template.spec.networkPolicy.egress[0].to;
    const [ofDefault] = egress[0]?.to ?? [];
    expect(shown.ipBlock.except).toEqual(expect.arrayContaining([...(ofDefault?.ipBlock?.except ?? [])]));
    expect(shown.ipBlock.except).toEqual(expect.arrayContaining(["100.64.0.0/10", "198.18.0.0/15"]));
    for (const range of egress.flatMap(({ to = [] }) => to).flatMap(({ ipBlock }) => ipBlock?.except ?? []))
      expect(page).toContain(range);
  });
});
