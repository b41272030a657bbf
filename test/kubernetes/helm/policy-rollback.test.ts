import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, inject, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { eventually } from "../support/eventually.ts";
import { type BareApiServer, establishDefinitions, startBareApiServer } from "./support/bare-api-server.ts";

// kubectl writes what a manifest has, and leaves what only a newer one had.
const root = join(import.meta.dirname, "..", "..", "..");

interface Written {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly validations?: readonly object[] };
}

const read = (path: string): readonly Written[] =>
  parseAllDocuments(readFileSync(join(root, path), "utf8")).map((document): Written => document.toJS());
const present = read("k8s/activator-admission-policy.yaml");
const previous = read("test/kubernetes/support/previous-activator-policy.yaml");

const isPolicy = ({ kind }: Written) => kind === "ValidatingAdmissionPolicy";
const isBinding = (object: Written) => !isPolicy(object);
const inEffect = ({ metadata }: Pick<Written, "metadata">) => `in effect: ${metadata.name} after the rollback`;

/** A policy in effect is told by its message. */
function withMessage(object: Written): Written {
  const validations = object.spec.validations?.map((validation) => ({ ...validation, message: inEffect(object) }));
  return validations === undefined ? object : { ...object, spec: { ...object.spec, validations } };
}

let api: BareApiServer;
beforeEach(async () => {
  api = await startBareApiServer(inject("tools"));
});
afterEach(() => api[Symbol.asyncDispose]());

const applied = (items: readonly object[]) =>
  api.type(
    `kubectl apply --server-side --force-conflicts -f - <<'END'\n${JSON.stringify({ apiVersion: "v1", kind: "List", items })}\nEND`,
  );

const spec = { podTemplate: { spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1" }] } } };
const sandbox = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: { name: "a" }, spec };
const sandboxes = "sandboxes.v1beta1.agents.x-k8s.io";

/** Two activators: one of another name that the ClusterRoleBinding names, and one that only its name shows. */
const renamed = "system:serviceaccount:agent-sandbox-system:renamed";
const byName = "system:serviceaccount:tenant:sandbox-router";

async function install(): Promise<void> {
  await api.type("kubectl apply --server-side -k k8s");
  await establishDefinitions(api);
  const conversion = '{"spec":{"conversion":{"strategy":"None","webhook":null}}}';
  await api.type(`kubectl patch crd sandboxes.agents.x-k8s.io --type=merge -p '${conversion}'`);
  const subject = '{"kind":"ServiceAccount","namespace":"agent-sandbox-system","name":"renamed"}';
  const patch = `[{"op":"add","path":"/subjects/-","value":${subject}}]`;
  await api.type(`kubectl patch clusterrolebinding sandbox-router --type=json -p '${patch}'`);
  // kubectl reads what it writes, and activators may not read sandboxes one by one.
  await api.type("kubectl create clusterrole a-test --verb=get,patch --resource=sandboxes.agents.x-k8s.io");
  const accounts = "--serviceaccount=agent-sandbox-system:renamed --serviceaccount=tenant:sandbox-router";
  await api.type(`kubectl create clusterrolebinding a-test --clusterrole=a-test ${accounts}`);
  await api.type(`kubectl create -f - <<'END'\n${JSON.stringify(sandbox)}\nEND`);
}

/** Returns what kubectl says, also where the write is rejected. */
const write = (flags = "") => {
  const patch = '{"spec":{"service":true}}';
  return api.type(`kubectl patch ${sandboxes} a --type=merge -p '${patch}' --dry-run=server ${flags} 2>&1 || true`);
};

const rejectedBy = (policy: string, user: string) =>
  eventually(async () => (await write(`--as=${user}`)).includes(inEffect({ metadata: { name: policy } })));

it.each([
  ["all objects of the previous release", previous],
  ["only the policy of the previous release", previous.filter(isPolicy)],
  ["only the binding of the previous release", previous.filter(isBinding)],
  ["no object of the previous release", []],
])("others may write sandboxes, and no activator may, after a rollback that wrote %s", async (_what, objects) => {
  await install();
  const names = new Map([...present, ...objects].map((object) => [`${object.kind} ${object.metadata.name}`, object]));
  await applied([...names.values()].map(withMessage));
  await rejectedBy("sandbox-router-may-only-wake", renamed);
  await rejectedBy("sandbox-router-may-only-wake-by-name", byName);
  expect(await write()).toContain("patched");
  expect(await api.type(`kubectl delete ${sandboxes} a --wait=false`)).toContain("deleted");
});
