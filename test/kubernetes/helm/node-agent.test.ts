import { afterEach, beforeEach, expect, inject, it } from "vitest";
import { parse } from "yaml";
import { type BareApiServer, startBareApiServer } from "./support/bare-api-server.ts";

let api: BareApiServer;
beforeEach(async () => {
  api = await startBareApiServer(inject("tools"));
});
afterEach(() => api[Symbol.asyncDispose]());

const namespace = "agent-sandbox-system";
const install = `helm upgrade --install rouse charts/rouse --namespace ${namespace} --set hibernation.enabled=true`;

/** Whether the API server admits a Pod of the node agents to a namespace. */
async function admitsAgent(to: string): Promise<boolean> {
  const { spec } = parse(await api.type(`kubectl -n ${namespace} get daemonset rouse-node-agent -o yaml`));
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "agent" }, spec: spec.template.spec };
  const create = `kubectl -n ${to} create --dry-run=server -f - <<'END'\n${JSON.stringify(pod)}\nEND`;
  return api.type(create).then(
    () => true,
    () => false,
  );
}

it("the chart refuses node agents in a namespace that would not admit their Pods", async () => {
  const label = `kubectl label namespace ${namespace} --overwrite pod-security.kubernetes.io/enforce`;
  await api.type(`kubectl create namespace ${namespace}`);
  await api.type(`${label}=baseline`);
  await expect(api.type(install)).rejects.toThrow(`${namespace} admits only Pods of the level baseline`);
  await api.type(`${label}=privileged`);
  await api.type(install);
  expect(await admitsAgent(namespace)).toBe(true);
  await api.type(`${label}=baseline`);
  expect(await admitsAgent(namespace)).toBe(false);
});

it("a namespace that the chart creates admits the node agents, and without them has no level", async () => {
  const created = `${install.replace(namespace, "default")} --set namespace.create=true,namespace.name=${namespace}`;
  const level = () =>
    api.type(
      `kubectl get namespace ${namespace} -o jsonpath='{.metadata.labels.pod-security\\.kubernetes\\.io/enforce}'`,
    );
  await api.type(created);
  expect(await level()).toBe("privileged");
  expect(await admitsAgent(namespace)).toBe(true);
  await api.type(`${created} --set hibernation.enabled=false`);
  expect(await level()).toBe("");
  expect(await api.type(`kubectl get daemonsets,serviceaccounts -n ${namespace} -o name`)).not.toContain("node-agent");
});

it("the node agent may read Pods, watch MemoryImages, and patch the status of these, and nothing else", async () => {
  await api.type(`${install} --create-namespace`);
  const rules = await api.type(
    `kubectl get clusterroles -l app=rouse-node-agent -o jsonpath='{range .items[*].rules[*]}{.resources}{.verbs}{"\\n"}{end}'`,
  );
  expect(rules.trim().split("\n")).toEqual([
    '["pods"]["get","list","watch"]',
    '["memoryimages"]["list","watch"]',
    '["memoryimages/status"]["patch"]',
  ]);
  const may = (verb: string, resource: string) =>
    api
      .type(`kubectl auth can-i ${verb} ${resource} --as=system:serviceaccount:${namespace}:rouse-node-agent`)
      .then((said) => said.trim() === "yes")
      .catch(() => false);
  expect(await may("watch", "pods")).toBe(true);
  expect(await may("patch", "memoryimages.hibernation.rouse.dev --subresource=status")).toBe(true);
  for (const [verb, resource] of [
    ["delete", "pods"],
    ["patch", "memoryimages.hibernation.rouse.dev"],
    ["get", "secrets"],
    ["get", "nodes"],
  ] as const) {
    expect(await may(verb, resource), `${verb} ${resource}`).toBe(false);
  }
});
