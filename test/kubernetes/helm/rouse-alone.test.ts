import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type BareApiServer, startBareApiServer } from "./support/bare-api-server.ts";
import { allKept, create, installing, keptDefinitions, uidOf } from "./support/installations.ts";
import { commandsUnder } from "./support/page-commands.ts";

let api: BareApiServer;
beforeEach(async () => {
  api = await startBareApiServer(inject("tools"));
});
afterEach(() => api[Symbol.asyncDispose]());

const aSandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "precious", namespace: "default" },
  spec: { podTemplate: { spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1" }] } } },
};

describe("an installation of Rouse alone", () => {
  it("is uninstalled with Helm by the steps of the page, which keep the definitions and the sandboxes", async () => {
    await api.type("helm install rouse charts/rouse --namespace agent-sandbox-system --create-namespace");
    const uid = await create(api, aSandbox);
    const steps = commandsUnder(installing, "## Uninstalling").filter((step) => !step.startsWith("kubectl kustomize"));
    expect(steps.map((step) => step.split(" ")[0])).toEqual(["helm", "npm", "helm", "kubectl"]);
    // There is no controller that would delete what waits for its dependents.
    for (const step of steps) await api.type(step.replace("--wait", ""));
    expect(await keptDefinitions(api)).toEqual(allKept);
    expect(await uidOf(api)).toBe(uid);
    expect(await api.type("helm list --all-namespaces --short")).toBe("");
  });

  it("is deleted without Helm by the page's command, which keeps the definitions and the sandboxes", async () => {
    await api.type("kubectl apply -k k8s");
    const uid = await create(api, aSandbox);
    const [remove = ""] = commandsUnder(installing, "## Uninstalling").slice(-1);
    expect(remove).toMatch(/^kubectl kustomize mine /);
    await api.type(remove.replace("mine", "k8s").replace("delete", "delete --wait=false"));
    expect(await keptDefinitions(api)).toEqual(allKept);
    expect(await uidOf(api)).toBe(uid);
    const left = "kubectl get validatingadmissionpolicies,clusterroles,deployments --all-namespaces -l app -o name";
    expect(await api.type(left)).not.toMatch(/sandbox/);
  });
});

/** Refuses every new ClusterRole and ClusterRoleBinding, as an administrator may. */
const noRoles = [
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "no-roles" },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ["rbac.authorization.k8s.io"],
            apiVersions: ["v1"],
            resources: ["clusterroles", "clusterrolebindings"],
            operations: ["CREATE"],
          },
        ],
      },
      validations: [{ expression: "false", message: "ask first" }],
    },
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "no-roles" },
    spec: { policyName: "no-roles", validationActions: ["Deny"] },
  },
];

describe("a first install of Rouse that failed because its ClusterRoles were refused", () => {
  it("is repeated by the same command, and does not take over the namespace", async () => {
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: noRoles });
    await api.type(`kubectl apply -f - <<'END'\n${list}\nEND`);
    const makeRole = "kubectl create clusterrole a-test --verb=get --resource=pods --dry-run=server 2>&1 || true";
    await eventually(async () => (await api.type(makeRole)).includes("ask first"));
    const inNamespace = "--namespace agent-sandbox-system";
    const install = `helm upgrade --install rouse charts/rouse ${inNamespace} --create-namespace`;
    await expect(api.type(install)).rejects.toThrow(/ask first/);
    await api.type("kubectl delete validatingadmissionpolicybinding,validatingadmissionpolicy no-roles");
    await eventually(async () => !(await api.type(makeRole)).includes("ask first"));
    expect(await api.type(install)).toContain("STATUS: deployed");
    expect(await api.type(`helm get manifest rouse ${inNamespace}`)).not.toContain("kind: Namespace\n");
  });
});

describe("an upgrade of Rouse alone", () => {
  it("does not take over the namespace that Helm created for it", async () => {
    const inNamespace = "--namespace agent-sandbox-system";
    await api.type(`helm install rouse charts/rouse ${inNamespace} --create-namespace`);
    await api.type(`helm upgrade rouse charts/rouse ${inNamespace} --set replicaCount=1`);
    expect(await api.type(`helm get manifest rouse ${inNamespace}`)).not.toContain("kind: Namespace\n");
  });
});
