import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { keptByInstallers } from "../../../api/crd/kept-by-installers.ts";
import { eventually } from "../support/eventually.ts";
import { type BareApiServer, startBareApiServer } from "./support/bare-api-server.ts";
import { commandsUnder } from "./support/page-commands.ts";
import type { FormerCharts } from "./support/provide-tools.ts";

const migrating = "docs/migrating.md";
const installing = "docs/guide/install.md";

const definitions = [
  "sandboxclaims.extensions.agents.x-k8s.io",
  "sandboxes.agents.x-k8s.io",
  "sandboxtemplates.extensions.agents.x-k8s.io",
  "sandboxwarmpools.extensions.agents.x-k8s.io",
];

let api: BareApiServer;
beforeEach(async () => {
  api = await startBareApiServer(inject("tools"));
});
afterEach(() => api[Symbol.asyncDispose]());

type Release = keyof FormerCharts;
const chartOf = (release: Release) => inject("formerCharts")[release];

const ourImages =
  "--set image.repository=registry.example.com/rouse/controller,image.tag=0.1.0,activator.image.repository=registry.example.com/rouse/activator,activator.image.tag=0.1.0";

/** A command of the page with its placeholders filled in. Nodes are missing, so no Deployment ever rolls out. */
const filledIn = (command: string, release: Release) =>
  command
    .replaceAll("OLD-CHART", chartOf(release))
    .replaceAll("NAMESPACE-OF-THE-RELEASE", "default")
    .replaceAll("REVISION", "1")
    .replace("--wait", "");

async function installFormer(release: Release): Promise<string> {
  await api.type(
    `helm install agent-sandbox ${chartOf(release)} --set image.tag=${release},controller.extensions=true`,
  );
  const version = release === "v0.4.6" ? "v1alpha1" : "v1beta1";
  const spec = { podTemplate: { spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1" }] } } };
  const precious = { apiVersion: `agents.x-k8s.io/${version}`, kind: "Sandbox", metadata: { name: "precious" }, spec };
  return create(precious);
}

/** Returns its UID. */
async function create(sandbox: object): Promise<string> {
  await api.type("kubectl wait --for=condition=Established crd --all --timeout=60s");
  await api.type(`kubectl create -f - <<'END'\n${JSON.stringify(sandbox)}\nEND`);
  return uidOf();
}

/** In whichever version is served now: kubectl remembers what was served before. */
const uidOf = () =>
  api.type('rm -rf "$HOME/.kube/cache"; kubectl get sandboxes.agents.x-k8s.io precious -o jsonpath={.metadata.uid}');

/** No program serves the webhook. Both versions have what a sandbox needs here. */
async function convertByNothing(): Promise<void> {
  const patch = '{"spec":{"conversion":{"strategy":"None","webhook":null}}}';
  for (const name of definitions) await api.type(`kubectl patch crd ${name} --type=merge -p '${patch}'`);
}

/** How many of the definitions have all annotations that keep them. */
const fullyKept = async () => {
  const { items } = JSON.parse(await api.type("kubectl get crd -o json"));
  return items.filter(({ metadata }: { metadata: { annotations?: Readonly<Record<string, string>> } }) =>
    Object.entries(keptByInstallers).every(([key, value]) => metadata.annotations?.[key] === value),
  ).length;
};

const keptDefinitions = async () => {
  const path = '{range .items[*]}{.metadata.name}={.metadata.annotations.helm\\.sh/resource-policy}{"\\n"}{end}';
  return (await api.type(`kubectl get crd -o 'jsonpath=${path}'`)).trim().split("\n").sort();
};
const allKept = definitions.map((name) => `${name}=keep`);

async function upgradeToOurs(release: Release): Promise<void> {
  const [upgrade = ""] = commandsUnder(migrating, "## By Helm");
  expect(upgrade).toMatch(/^helm upgrade /);
  await api.type(filledIn(upgrade, release));
  await convertByNothing();
}

const byHelm = (command: string) => !/kubectl apply -f|kubectl -n agent-sandbox-system/.test(command);

/** The steps of the page that apply to this release, for an installation by Helm. */
const stepsBack = (release: Release): readonly string[] =>
  [
    "### 1. Lead the names of sandboxes to their Pods",
    ...(release === "v0.4.6" ? ["### 2. To v0.4: store all objects in v1alpha1"] : []),
    "### 3. Install the old release",
  ].flatMap((title) => commandsUnder(migrating, title).filter(byHelm));

describe.each(["v0.4.6", "v0.5.6"] as const)("on the page's way from the chart of %s and back", (release) => {
  it("no step deletes a definition or a sandbox, and the way can be taken twice", async () => {
    const uid = await installFormer(release);
    for (const _round of [1, 2]) {
      await upgradeToOurs(release);
      expect(await keptDefinitions()).toEqual(allKept);
      for (const step of stepsBack(release)) {
        await api.type(filledIn(step, release));
        expect({ step, kept: await keptDefinitions() }).toEqual({ step, kept: allKept });
        expect({ step, kept: await fullyKept() }).toEqual({ step, kept: definitions.length });
        if (/^helm upgrade|^kubectl annotate/.test(step)) await convertByNothing();
      }
      expect(await uidOf()).toBe(uid);
      expect(await api.type("helm history agent-sandbox --max 1 -o json")).toContain("Rollback to 1");
    }
  });
});

describe("somebody who turns back to Rouse", () => {
  it("has our definitions again by the steps of the page, even after those of v0.4.6 were installed", async () => {
    const release = "v0.4.6";
    const uid = await installFormer(release);
    await upgradeToOurs(release);
    const stay = commandsUnder(migrating, "### Staying with Rouse after all");
    expect(stay.length).toBe(3);
    for (const step of [...stepsBack(release).slice(0, -1), ...stay]) {
      await api.type(filledIn(step, release));
      if (/^helm upgrade|^kubectl (annotate|replace)/.test(step)) await convertByNothing();
      expect({ step, kept: await keptDefinitions() }).toEqual({ step, kept: allKept });
    }
    expect(await uidOf()).toBe(uid);
    const stored = "kubectl get crd sandboxes.agents.x-k8s.io -o 'jsonpath={.spec.versions[?(@.storage==true)].name}'";
    expect(await api.type(stored)).toBe("v1beta1");
  });
});

describe("a first install of the former chart that failed because Helm had created its namespace", () => {
  it("is upgraded without deleting the namespace, and so is the next upgrade", async () => {
    const inNamespace = "--namespace agent-sandbox-system";
    const values = "--set image.tag=v0.4.6,controller.extensions=true";
    const failed = `helm install agent-sandbox ${chartOf("v0.4.6")} ${inNamespace} --create-namespace ${values}`;
    await expect(api.type(failed)).rejects.toThrow(/already exists/);
    const [upgrade = ""] = commandsUnder(migrating, "## By Helm");
    await api.type(filledIn(upgrade, "v0.4.6").replace("--namespace default", inNamespace));
    await api.type(`helm upgrade agent-sandbox charts/rouse ${inNamespace} --reset-then-reuse-values`);
    const phase = "kubectl get namespace agent-sandbox-system -o jsonpath={.status.phase}";
    expect(await api.type(phase)).toBe("Active");
  });
});

describe("a definition from which somebody took the annotation", () => {
  it("is not reached by the page's last step, which puts the annotation back first", async () => {
    const uid = await installFormer("v0.5.6");
    await upgradeToOurs("v0.5.6");
    await api.type(`kubectl replace -f ${chartOf("v0.5.6")}/crds`);
    await convertByNothing();
    expect(await keptDefinitions()).not.toEqual(allKept);
    const [rollback = ""] = stepsBack("v0.5.6").slice(-1);
    await api.type(filledIn(rollback, "v0.5.6"));
    expect(await keptDefinitions()).toEqual(allKept);
    expect(await uidOf()).toBe(uid);
  });
});

describe("our chart", () => {
  it.each([
    ["a rollback that skips all steps", "helm rollback agent-sandbox 1"],
    ["an uninstall", "helm uninstall agent-sandbox"],
    [
      "an upgrade without its definitions, after our plain ones were replaced",
      `kubectl replace -f crds && helm upgrade agent-sandbox charts/rouse --reset-then-reuse-values --set crds.install=false ${ourImages}`,
    ],
  ])("keeps the definitions and the sandboxes on %s", async (_title, command) => {
    const uid = await installFormer("v0.5.6");
    await upgradeToOurs("v0.5.6");
    await api.type(command);
    expect(await keptDefinitions()).toEqual(allKept);
    expect(await uidOf()).toBe(uid);
  });
});

const aSandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "precious", namespace: "default" },
  spec: { podTemplate: { spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1" }] } } },
};

describe("an installation of Rouse alone", () => {
  it("is uninstalled with Helm by the steps of the page, which keep the definitions and the sandboxes", async () => {
    await api.type("helm install rouse charts/rouse --namespace agent-sandbox-system --create-namespace");
    const uid = await create(aSandbox);
    const steps = commandsUnder(installing, "## Uninstalling").filter((step) => !step.startsWith("kubectl kustomize"));
    expect(steps.map((step) => step.split(" ")[0])).toEqual(["helm", "npm", "helm", "kubectl"]);
    // There is no controller that would delete what waits for its dependents.
    for (const step of steps) await api.type(step.replace("--wait", ""));
    expect(await keptDefinitions()).toEqual(allKept);
    expect(await uidOf()).toBe(uid);
    expect(await api.type("helm list --all-namespaces --short")).toBe("");
  });

  it("is deleted without Helm by the page's command, which keeps the definitions and the sandboxes", async () => {
    await api.type("kubectl apply -k k8s");
    const uid = await create(aSandbox);
    const [remove = ""] = commandsUnder(installing, "## Uninstalling").slice(-1);
    expect(remove).toMatch(/^kubectl kustomize mine /);
    await api.type(remove.replace("mine", "k8s").replace("delete", "delete --wait=false"));
    expect(await keptDefinitions()).toEqual(allKept);
    expect(await uidOf()).toBe(uid);
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
