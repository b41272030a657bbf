import { readFileSync } from "node:fs";
import { celEnv, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";

const file = new URL("../../../charts/rouse/templates/hibernation/admission-policy.yaml", import.meta.url);
const text = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => !line.trim().startsWith("{{"))
  .join("\n")
  .replaceAll('{{ include "rouse.namespace" . }}', "system");
const [podPolicy, podBinding, imagePolicy, imageBinding] = parseAllDocuments(text).map((part) => part.toJS());

interface Named {
  readonly name: string;
  readonly expression: string;
}

const environment = celEnv({ funcs: strings });
const evaluate = (expression: string, input: object): unknown => plan(environment, parse(expression))(input as never);

/** Whether a policy of the chart admits a request. */
function admits(policy: typeof podPolicy, input: object): boolean {
  const { matchConditions = [], variables = [], validations } = policy.spec;
  if (!matchConditions.every(({ expression }: Named) => evaluate(expression, input) === true)) return true;
  const values = Object.fromEntries(
    variables.map(({ name, expression }: Named) => [name, evaluate(expression, input)]),
  );
  return validations.every(({ expression }: Named) => evaluate(expression, { ...input, variables: values }) === true);
}

const controller = "system:serviceaccount:system:agent-sandbox-controller";
const agent = "system:serviceaccount:system:rouse-node-agent";
const annotated = (annotations?: object) => ({ metadata: { name: "nova", ...(annotations && { annotations }) } });
const image = { "hibernation.rouse.dev/image": "pod-1" };

interface PodWrite {
  readonly by?: string;
  readonly now?: object;
  readonly before?: object | null;
}

const writesPod = ({ by = "admin", now, before = null }: PodWrite) =>
  admits(podPolicy, {
    request: { userInfo: { username: by }, operation: before ? "UPDATE" : "CREATE" },
    object: annotated(now),
    oldObject: before && annotated(before),
  });

it("only the controller creates a Pod that asks for memory, or binds one so", () => {
  expect(writesPod({ now: image })).toBe(false);
  expect(writesPod({ now: image, by: agent })).toBe(false);
  expect(writesPod({ now: image, by: "system:serviceaccount:tenant:agent-sandbox-controller" })).toBe(false);
  expect(writesPod({ now: image, by: controller })).toBe(true);
  expect(writesPod({})).toBe(true);
  expect(writesPod({ now: { team: "a" } })).toBe(true);
});

it("only the controller adds, changes or removes what a Pod says about memory", () => {
  expect(writesPod({ before: {}, now: image })).toBe(false);
  expect(writesPod({ before: image, now: { "hibernation.rouse.dev/image": "pod-2" } })).toBe(false);
  expect(writesPod({ before: image, now: {} })).toBe(false);
  expect(writesPod({ before: image })).toBe(false);
  expect(writesPod({ before: image, now: { ...image, team: "a" } })).toBe(true);
  expect(writesPod({ before: image, now: {}, by: controller })).toBe(true);
});

it("nobody changes the image of a container of a Pod that says something about memory", () => {
  const main = { name: "main", image: "busybox" };
  const helper = { name: "helper", image: "helper" };
  const debug = { name: "debug", image: "tools" };
  const other = { ...main, image: "other" };
  const before = { containers: [main], initContainers: [helper], ephemeralContainers: [debug] };
  const writes = (spec: object, annotations: object = image, by = "admin", old: object = before) =>
    admits(podPolicy, {
      request: { userInfo: { username: by }, operation: "UPDATE" },
      object: { ...annotated(annotations), spec },
      oldObject: { ...annotated(annotations), spec: old },
    });
  for (const by of ["admin", agent, controller]) {
    expect(writes({ ...before, containers: [other] }, image, by)).toBe(false);
    expect(writes({ ...before, containers: [{ name: "main" }] }, image, by)).toBe(false);
    expect(writes({ ...before, initContainers: [{ ...helper, image: "other" }] }, image, by)).toBe(false);
    expect(writes({ ...before, ephemeralContainers: [{ ...debug, image: "other" }] }, image, by)).toBe(false);
    expect(writes({ ...before, activeDeadlineSeconds: 5 }, image, by)).toBe(true);
  }
  expect(writes({ containers: [main, helper] }, image, "admin", { containers: [main, other] })).toBe(false);
  expect(writes({ containers: [main], ephemeralContainers: [debug] }, image, "admin", { containers: [main] })).toBe(
    true,
  );
  expect(writes({ containers: [other] }, { team: "a" }, "admin", { containers: [main] })).toBe(true);
});

it("the policy about Pods covers each path by which an annotation comes to one", () => {
  expect(podPolicy.spec.matchConstraints.resourceRules).toEqual([
    {
      apiGroups: [""],
      apiVersions: ["v1"],
      resources: ["pods", "pods/*", "bindings"],
      operations: ["CREATE", "UPDATE"],
    },
  ]);
  expect(podBinding.spec).toEqual({ policyName: podPolicy.metadata.name, validationActions: ["Deny"] });
});

const stored = {
  metadata: { name: "pod-1", ownerReferences: [{ uid: "s" }] },
  spec: { nodeName: "n1", stage: "Preflight" },
};

interface ImageWrite {
  readonly by: string;
  readonly nodes?: readonly string[];
  readonly subResource?: string;
  readonly object?: object;
  readonly isNew?: boolean;
}

const writesImage = ({ by, nodes, subResource, object = stored, isNew = false }: ImageWrite) =>
  admits(imagePolicy, {
    request: {
      userInfo: { username: by, ...(nodes && { extra: { "authentication.kubernetes.io/node-name": nodes } }) },
      operation: isNew ? "CREATE" : "UPDATE",
      ...(subResource !== undefined && { subResource }),
    },
    object,
    oldObject: isNew ? null : stored,
  });

it("only the controller writes a MemoryImage, and others may write it as it is", () => {
  const asked = { ...stored, spec: { ...stored.spec, stage: "Capture" } };
  const given = { ...stored, metadata: { ...stored.metadata, annotations: { "hibernation.rouse.dev/given-up": "x" } } };
  const other = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "other", uid: "s2" };
  const owned = { ...stored, metadata: { ...stored.metadata, ownerReferences: [other] } };
  for (const object of [asked, given, owned]) {
    expect(writesImage({ by: "admin", object })).toBe(false);
    expect(writesImage({ by: agent, nodes: ["n1"], object })).toBe(false);
    expect(writesImage({ by: controller, object })).toBe(true);
  }
  expect(writesImage({ by: "admin", isNew: true })).toBe(false);
  expect(writesImage({ by: controller, isNew: true })).toBe(true);
  expect(writesImage({ by: "system:serviceaccount:kube-system:generic-garbage-collector" })).toBe(true);
});

it("an owner may be taken off a MemoryImage: it may be deleted without what it owns", () => {
  const { ownerReferences: _, ...withoutOwners } = stored.metadata;
  for (const metadata of [{ ...stored.metadata, ownerReferences: [] }, withoutOwners]) {
    expect(writesImage({ by: "admin", object: { ...stored, metadata } })).toBe(true);
  }
});

it("only the agent of its node writes the status of a MemoryImage", () => {
  const status = { subResource: "status", object: { ...stored, status: { phase: "Captured" } } };
  expect(writesImage({ ...status, by: agent, nodes: ["n1"] })).toBe(true);
  expect(writesImage({ ...status, by: agent, nodes: ["n2"] })).toBe(false);
  expect(writesImage({ ...status, by: agent })).toBe(false);
  expect(writesImage({ ...status, by: "system:serviceaccount:tenant:rouse-node-agent", nodes: ["n1"] })).toBe(false);
  expect(writesImage({ ...status, by: controller })).toBe(false);
  expect(imageBinding.spec).toEqual({ policyName: imagePolicy.metadata.name, validationActions: ["Deny"] });
});
