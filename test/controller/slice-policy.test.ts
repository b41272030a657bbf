import { readFileSync } from "node:fs";
import { celEnv, parse, plan } from "@bufbuild/cel";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { endpointSliceType, tcpFrontSelector } from "../../api/protocols/tcp-front.ts";

const read = (name: string) =>
  parseAllDocuments(readFileSync(new URL(`../../k8s/${name}`, import.meta.url), "utf8")).map((part) => part.toJS());

const [policy, binding] = read("controller-admission-policy.yaml");
const rights = read("controller-rbac.yaml");
const account = rights.find(({ kind }) => kind === "ServiceAccount");
const params = rights.find(({ kind }) => kind === "ClusterRoleBinding");

function admits(username: string): boolean {
  const expressions: readonly { readonly expression: string }[] = policy.spec.validations;
  return expressions.every(
    ({ expression }) =>
      plan(celEnv(), parse(expression))({ params, request: { userInfo: { username } } } as never) === true,
  );
}

it("the policy for EndpointSlices of the controller matches those that both programs watch", () => {
  const { objectSelector, resourceRules } = policy.spec.matchConstraints;
  const labels: Readonly<Record<string, string>> = objectSelector.matchLabels;
  expect(Object.entries(labels).map(([key, value]) => `${key}=${value}`)).toEqual([tcpFrontSelector]);
  const { group, version, plural } = endpointSliceType;
  expect(resourceRules).toEqual([
    { apiGroups: [group], apiVersions: [version], resources: [plural], operations: ["CREATE", "UPDATE"] },
  ]);
  expect(binding.spec).toMatchObject({ policyName: policy.metadata.name, validationActions: ["Deny"] });
});

it("the policy for EndpointSlices of the controller admits its service account, and nobody else", () => {
  const { namespace, name } = account.metadata;
  expect(admits(`system:serviceaccount:${namespace}:${name}`)).toBe(true);
  for (const other of ["admin", `system:serviceaccount:tenant:${name}`, `system:serviceaccount:${namespace}:other`]) {
    expect(admits(other)).toBe(false);
  }
});
