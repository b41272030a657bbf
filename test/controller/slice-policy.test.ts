import { readFileSync } from "node:fs";
import { celEnv, parse, plan } from "@bufbuild/cel";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { endpointSliceType, tcpFrontSelector } from "../../api/between-programs/tcp-front.ts";

const read = (name: string) =>
  parseAllDocuments(readFileSync(new URL(`../../k8s/${name}`, import.meta.url), "utf8")).map((part) => part.toJS());

const [policy, binding] = read("controller-admission-policy.yaml");
const rights = read("controller-rbac.yaml");
const account = rights.find(({ kind }) => kind === "ServiceAccount");
const params = rights.find(({ kind }) => kind === "ClusterRoleBinding");

type Condition = "isController" | "keepsContent";
const variables: readonly { readonly name: Condition; readonly expression: string }[] = policy.spec.variables;
const expressionOf = (wanted: Condition): string => variables.find(({ name }) => name === wanted)?.expression ?? "";

const isController = (username: string): unknown =>
  plan(celEnv(), parse(expressionOf("isController")))({ params, request: { userInfo: { username } } } as never);

/** Whether a write is admitted in which these conditions hold. */
function admits(holding: Readonly<Record<Condition, boolean>>): boolean {
  const expressions: readonly { readonly expression: string }[] = policy.spec.validations;
  return expressions.every(
    ({ expression }) => plan(celEnv(), parse(expression))({ variables: holding } as never) === true,
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

it("the policy for EndpointSlices of the controller takes its service account for it, and nobody else", () => {
  const { namespace, name } = account.metadata;
  expect(isController(`system:serviceaccount:${namespace}:${name}`)).toBe(true);
  for (const other of ["admin", `system:serviceaccount:tenant:${name}`, `system:serviceaccount:${namespace}:other`]) {
    expect(isController(other)).toBe(false);
  }
});

it("the policy for EndpointSlices of the controller admits the controller, and who changes nothing", () => {
  expect(admits({ isController: true, keepsContent: false })).toBe(true);
  expect(admits({ isController: false, keepsContent: true })).toBe(true);
  expect(admits({ isController: false, keepsContent: false })).toBe(false);
});

it("an EndpointSlice that changes nothing has all fields as before", () => {
  const [operation, ...fields] = expressionOf("keepsContent").split(" && ");
  expect(operation).toBe("request.operation == 'UPDATE'");
  const kept = ["metadata.?labels", "metadata.?annotations", "metadata.?ownerReferences"];
  const same = [...kept, "addressType", "?endpoints", "?ports"].map((field) => `object.${field} == oldObject.${field}`);
  expect(fields).toEqual([...same, expect.stringMatching(/^object\.metadata\.\?finalizers\..* in oldObject/)]);
});
