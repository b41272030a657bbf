import { readFileSync } from "node:fs";
import { join } from "node:path";
import { celEnv, parse, plan } from "@bufbuild/cel";
import { describe, expect, it } from "vitest";
import { parseAllDocuments, parse as parseYaml } from "yaml";

const folder = join(import.meta.dirname, "..", "..", "k8s");
const read = (name: string) => readFileSync(join(folder, name), "utf8");
const resources: readonly string[] = parseYaml(read("kustomization.yaml")).resources;

type Labels = Readonly<Record<string, string>>;

interface PodTemplate {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly serviceAccountName: string;
    readonly containers: readonly { readonly args: readonly string[]; readonly ports: readonly { name: string }[] }[];
  };
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Labels };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly spec?: {
    readonly template?: PodTemplate;
    readonly selector?: Readonly<Record<string, unknown>>;
    readonly podSelector?: { readonly matchLabels: Labels };
    readonly ports?: readonly { readonly targetPort: string }[];
    readonly ingress?: readonly { readonly ports: readonly { readonly port: string | number }[] }[];
    readonly matchConditions?: readonly { readonly expression: string }[];
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
    readonly policyName?: string;
    readonly paramRef?: {
      readonly name?: string;
      readonly selector?: { readonly matchLabels: Labels };
      readonly parameterNotFoundAction: string;
    };
  };
}

const manifests: readonly Manifest[] = resources
  .filter((name) => !name.startsWith(".."))
  .flatMap((name) => parseAllDocuments(read(name)).map((document): Manifest => document.toJS()));

const ofKind = (objects: readonly Manifest[], kind: string) => objects.filter((object) => object.kind === kind);
const namesOf = (kind: string) => ofKind(manifests, kind).map(({ metadata }) => metadata.name);
const has = (labels: Labels, wanted: Labels) => Object.entries(wanted).every(([key, value]) => labels[key] === value);

/** What the field `namespace` of a kustomization makes of an object. */
function moved(object: Manifest, namespace: string): Manifest {
  const { kind, metadata, subjects } = object;
  if (kind === "Namespace") return { ...object, metadata: { ...metadata, name: namespace } };
  return {
    ...object,
    metadata: { ...metadata, ...(metadata.namespace && { namespace }) },
    ...(subjects && { subjects: subjects.map((subject) => ({ ...subject, namespace })) }),
  };
}

describe("the plain manifests in another namespace", () => {
  const there = manifests.map((object) => moved(object, "elsewhere"));

  it("do not name the former namespace anywhere", () => {
    expect(there.length).toBeGreaterThan(20);
    const naming = there.filter((object) => JSON.stringify(object).includes("agent-sandbox-system"));
    expect(naming.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  });

  /** Whether the expression of a policy is about a user. Without a ClusterRoleBinding, `params` is null. */
  const isAbout = (expression: string, params: Pick<Manifest, "subjects"> | null, username: string) =>
    plan(celEnv(), parse(expression))({ params, request: { userInfo: { username } } } as never);
  const policyNamed = (name: string) =>
    ofKind(there, "ValidatingAdmissionPolicy").find(({ metadata }) => metadata.name === name)?.spec ?? {};
  const bindingsOf = (name: string) =>
    ofKind(there, "ValidatingAdmissionPolicyBinding").flatMap(({ spec }) => (spec?.policyName === name ? [spec] : []));

  const policyByName = "sandbox-router-may-only-wake-by-name";
  const ofActivator = policyNamed("sandbox-router-may-only-wake").matchConditions?.[0]?.expression ?? "";
  const ofController = policyNamed("agent-sandbox-controller-alone-writes-its-slices").variables?.[0]?.expression ?? "";

  it.each([
    ["sandbox-router-may-only-wake", "sandbox-router", ofActivator],
    ["agent-sandbox-controller-alone-writes-its-slices", "agent-sandbox-controller", ofController],
  ])("have the policy %s for the service account %s that is there", (name, account, expression) => {
    const { name: paramName, selector } = bindingsOf(name)[0]?.paramRef ?? {};
    const params = ofKind(there, "ClusterRoleBinding").filter(({ metadata }) =>
      selector ? has(metadata.labels ?? {}, selector.matchLabels) : metadata.name === paramName,
    );
    const applies = (username: string) => params.map((each) => isAbout(expression, each, username));
    expect(applies(`system:serviceaccount:elsewhere:${account}`)).toEqual([true]);
    expect(applies(`system:serviceaccount:agent-sandbox-system:${account}`)).toEqual([false]);
    expect(applies("system:serviceaccount:elsewhere:other")).toEqual([false]);
    expect(isAbout(expression, {}, `system:serviceaccount:elsewhere:${account}`)).toBe(false);
  });

  it("restrict the activator also without its ClusterRoleBinding, and nobody else", () => {
    const [ofBinding, ...others] = bindingsOf("sandbox-router-may-only-wake");
    const [byName] = bindingsOf(policyByName);
    // An older release may write this policy again: a second binding could then reject every write of a Sandbox.
    expect(others).toEqual([]);
    // Deny would reject every write of a Sandbox while the ClusterRoleBinding is missing. The other policy holds then.
    expect(ofBinding?.paramRef?.parameterNotFoundAction).toBe("Allow");
    expect(byName).toMatchObject({ validationActions: ["Deny"] });
    expect(byName?.paramRef).toBeUndefined();
    const readsNothing = policyNamed(policyByName).matchConditions?.[0]?.expression ?? "";
    for (const expression of [ofActivator, readsNothing]) {
      expect(isAbout(expression, null, "system:serviceaccount:elsewhere:sandbox-router")).toBe(true);
      for (const other of ["admin", "system:serviceaccount:elsewhere:other", "them:sandbox-router", "sandbox-router"]) {
        expect(isAbout(expression, null, other)).toBe(false);
      }
    }
  });

  it("let nobody write EndpointSlices of the controller without its ClusterRoleBinding", () => {
    const bindings = bindingsOf("agent-sandbox-controller-alone-writes-its-slices");
    expect(bindings.map(({ paramRef }) => paramRef?.parameterNotFoundAction)).toEqual(["Deny"]);
    // A tenant can give a service account of its own any name.
    expect(isAbout(ofController, null, "system:serviceaccount:tenant:agent-sandbox-controller")).toBe(false);
  });
});

describe("a name that a plain manifest repeats", () => {
  const templates = manifests.flatMap(({ spec }) => (spec?.template ? [spec.template] : []));
  const selected = (labels: Labels) => templates.filter(({ metadata }) => has(metadata.labels, labels));

  it("is that of a role, a service account or a policy", () => {
    const bindings = manifests.filter(({ roleRef }) => roleRef);
    expect(bindings.length).toBeGreaterThan(3);
    for (const { roleRef, subjects = [] } of bindings) {
      expect(namesOf(roleRef?.kind ?? "")).toContain(roleRef?.name);
      for (const { name } of subjects) expect(namesOf("ServiceAccount")).toContain(name);
    }
    for (const { spec } of templates) expect(namesOf("ServiceAccount")).toContain(spec.serviceAccountName);
    for (const { spec } of ofKind(manifests, "ValidatingAdmissionPolicyBinding")) {
      expect(namesOf("ValidatingAdmissionPolicy")).toContain(spec?.policyName);
    }
  });

  it("is that of a port of the Pods that a Service or a NetworkPolicy selects", () => {
    for (const { spec = {} } of ofKind(manifests, "Service")) {
      const pods = selected((spec.selector ?? {}) as Labels);
      const names = pods.flatMap((pod) => pod.spec.containers.flatMap(({ ports }) => ports.map(({ name }) => name)));
      expect(pods).toHaveLength(1);
      expect(names).toEqual(expect.arrayContaining((spec.ports ?? []).map(({ targetPort }) => targetPort)));
    }
    for (const { spec } of ofKind(manifests, "NetworkPolicy")) {
      const pods = selected(spec?.podSelector?.matchLabels ?? {});
      const names = pods.flatMap((pod) => pod.spec.containers.flatMap(({ ports }) => ports.map(({ name }) => name)));
      const asked = (spec?.ingress ?? []).flatMap(({ ports }) => ports.map(({ port }) => port));
      expect(pods).toHaveLength(1);
      expect(names).toEqual(expect.arrayContaining(asked.filter((port) => typeof port === "string")));
    }
  });

  it("is that of the Service or service account which a flag of the controller names", () => {
    const args = templates.flatMap(({ spec }) => spec.containers.flatMap((container) => container.args));
    const flagValue = (flag: string) => args.find((arg) => arg.startsWith(`--${flag}=`))?.split("=")[1];
    expect(namesOf("Service")).toContain(flagValue("webhook-service-name"));
    expect(namesOf("ServiceAccount")).toContain(flagValue("activator-service-account"));
  });
});
