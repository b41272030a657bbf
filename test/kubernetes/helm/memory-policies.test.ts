import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type BareApiServer, establishDefinitions, startBareApiServer } from "./support/bare-api-server.ts";

// The policies of hibernation, by an API server of Kubernetes. Everybody here has all rights, so a policy is all that refuses.
let api: BareApiServer;
beforeAll(async () => {
  api = await startBareApiServer(inject("tools"));
  await install();
});
afterAll(() => api[Symbol.asyncDispose]());

const namespace = "agent-sandbox-system";
const as = (account: string) => `--as=system:serviceaccount:${namespace}:${account} --as-group=system:masters`;
const controller = as("agent-sandbox-controller");
const agentOn = (node: string) =>
  `${as("rouse-node-agent")} --as-user-extra=authentication.kubernetes.io/node-name=${node}`;
const onlyController = "only the controller of sandboxes may";
const onlyAgent = "only the agent of its node may write the status of a MemoryImage";

/** What the API server says to a write: its refusal, or nothing. */
const said = (command: string, object?: object): Promise<string> =>
  api
    .type(object ? `${command} -f - <<'END'\n${JSON.stringify(object)}\nEND` : command)
    .then(() => "")
    .catch((error: unknown) => String(error));

const aPod = (name: string, annotations: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, annotations },
  spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1" }] },
});
const asksFor = { "hibernation.rouse.dev/image": "pod-1" };
const image = {
  apiVersion: "hibernation.rouse.dev/v1alpha1",
  kind: "MemoryImage",
  metadata: { name: "pod-1" },
  spec: {
    ...{ sandboxUID: "s", podName: "nova", podUID: "1", nodeName: "n1", runHash: "h" },
    ...{ timeoutSeconds: 10, stage: "Preflight" },
  },
};

async function install(): Promise<void> {
  await api.type(`kubectl create namespace ${namespace}`);
  await api.type(
    `helm template rouse charts/rouse --namespace=${namespace} --set hibernation.enabled=true --show-only templates/hibernation/crd.yaml --show-only templates/hibernation/rbac.yaml --show-only templates/hibernation/admission-policy.yaml | kubectl apply --server-side -f -`,
  );
  await establishDefinitions(api, "crd/memoryimages.hibernation.rouse.dev");
  // A policy is in effect some time after it is written.
  const inEffect = async () =>
    (await said("kubectl create --dry-run=server", aPod("probe", asksFor))).includes(onlyController) &&
    (await said("kubectl create --dry-run=server", image)).includes(onlyController);
  await eventually(inEffect, 60_000);
}

it("only the controller has Pods ask for memory, on every path by which an annotation comes to a Pod", async () => {
  expect(await said("kubectl create", aPod("plain"))).toBe("");
  expect(await said(`kubectl create ${controller}`, aPod("nova", asksFor))).toBe("");
  // As the controller asks whether a Pod would be accepted. The name is looked at last.
  const dryRun = "kubectl create --dry-run=server";
  expect(await said(dryRun, aPod("nova", asksFor))).toContain(onlyController);
  expect(await said(`${dryRun} ${controller}`, aPod("nova", asksFor))).toContain("already exists");
  expect(await said("kubectl label pod nova team=a")).toBe("");
  const key = "hibernation.rouse.dev/image";
  for (const change of [
    `annotate pod plain ${key}=pod-1`,
    `annotate pod nova ${key}-`,
    `annotate pod nova --overwrite ${key}=x`,
  ]) {
    expect(await said(`kubectl ${change}`), change).toContain(onlyController);
  }
  const patch = JSON.stringify({ metadata: { annotations: asksFor } });
  expect(await said(`kubectl patch pod plain --subresource=status --type=merge -p '${patch}'`)).toContain(
    onlyController,
  );
  const target = { apiVersion: "v1", kind: "Node", name: "n1" };
  const binding = (annotations: object) => ({
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "plain", annotations },
    target,
  });
  const bind = "kubectl create --raw=/api/v1/namespaces/default/pods/plain/binding";
  expect(await said(bind, binding(asksFor))).toContain(onlyController);
  const old = "kubectl create --raw=/api/v1/namespaces/default/bindings";
  expect(await said(old, binding(asksFor))).toContain(onlyController);
  expect(await said(bind, binding({}))).toBe("");
});

it("nobody changes the image of a container of a Pod that says something about memory", async () => {
  const init = { initContainers: [{ name: "first", image: "rouse.invalid/first:1" }] };
  const pod = (name: string, annotations: object) => {
    const made = aPod(name, annotations);
    return { ...made, spec: { ...made.spec, ...init } };
  };
  expect(await said(`kubectl create ${controller}`, pod("bound", { "hibernation.rouse.dev/run-hash": "h" }))).toBe("");
  expect(await said("kubectl create", pod("free", {}))).toBe("");
  const nobody = "nobody may change a container image";
  for (const who of ["", controller]) {
    for (const container of ["main", "first"]) {
      const change = `kubectl set image pod/bound ${container}=rouse.invalid/other:1 ${who}`;
      expect(await said(change), change).toContain(nobody);
    }
  }
  expect(await said("kubectl set image pod/free main=rouse.invalid/other:1 first=rouse.invalid/other:1")).toBe("");
  expect(await said("kubectl label pod bound team=a")).toBe("");
  const status = JSON.stringify({ status: { phase: "Pending", message: "seen" } });
  expect(await said(`kubectl patch pod bound --subresource=status --type=merge -p '${status}'`)).toBe("");
  const debug = { ephemeralContainers: [{ name: "debug", image: "rouse.invalid/tools:1" }] };
  const patch = JSON.stringify({ spec: debug });
  expect(await said(`kubectl patch pod bound --subresource=ephemeralcontainers -p '${patch}'`)).toBe("");
});

it("only the controller writes a MemoryImage, and only the agent of its node the status", async () => {
  expect(await said(`kubectl create ${agentOn("n1")}`, image)).toContain(onlyController);
  expect(await said(`kubectl create ${controller}`, image)).toBe("");
  const status = `kubectl patch memoryimage pod-1 --subresource=status --type=merge -p '{"status":{"phase":"Captured"}}'`;
  for (const who of ["", controller, agentOn("n2"), as("rouse-node-agent")]) {
    expect(await said(`${status} ${who}`), who).toContain(onlyAgent);
  }
  expect(await said(`${status} ${agentOn("n1")}`)).toBe("");
  const capture = `kubectl patch memoryimage pod-1 --type=merge -p '{"spec":{"stage":"Capture"}}'`;
  expect(await said(`${capture} ${agentOn("n1")}`)).toContain(onlyController);
  expect(await said(`${capture} ${controller}`)).toBe("");
});

it("anybody with the right may take an owner off a MemoryImage, as a deletion with --cascade=orphan does", async () => {
  const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "nova", uid: "s", controller: true };
  const metadata = { name: "pod-2", ownerReferences: [owner] };
  expect(await said(`kubectl create ${controller}`, { ...image, metadata })).toBe("");
  const patch = (ownerReferences: unknown) =>
    `kubectl patch memoryimage pod-2 --type=merge -p '${JSON.stringify({ metadata: { ownerReferences } })}'`;
  expect(await said(patch([{ ...owner, uid: "t" }]))).toContain(onlyController);
  expect(await said(patch(null))).toBe("");
  expect(await said(patch([owner]))).toContain(onlyController);
});
