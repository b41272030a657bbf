// Installations of the former chart and of ours, on an API server without nodes.
import { expect, inject } from "vitest";
import { keptByInstallers } from "../../../../api/crd/kept-by-installers.ts";
import { type BareApiServer, establishDefinitions } from "./bare-api-server.ts";
import { commandsUnder } from "./page-commands.ts";
import type { FormerCharts } from "./provide-tools.ts";

export const migrating = "docs/migrating.md";
export const installing = "docs/guide/install.md";

export const definitions = [
  "sandboxclaims.extensions.agents.x-k8s.io",
  "sandboxes.agents.x-k8s.io",
  "sandboxtemplates.extensions.agents.x-k8s.io",
  "sandboxwarmpools.extensions.agents.x-k8s.io",
];

export type Release = keyof FormerCharts;
export const chartOf = (release: Release) => inject("formerCharts")[release];

export const ourImages =
  "--set image.repository=registry.example.com/rouse/controller,image.tag=0.1.0,activator.image.repository=registry.example.com/rouse/activator,activator.image.tag=0.1.0";

/** A command of the page with its placeholders filled in. Nodes are missing, so no Deployment ever rolls out. */
export const filledIn = (command: string, release: Release) =>
  command
    .replaceAll("OLD-CHART", chartOf(release))
    .replaceAll("NAMESPACE-OF-THE-RELEASE", "default")
    .replaceAll("REVISION", "1")
    .replace("--wait", "");

export async function installFormer(api: BareApiServer, release: Release): Promise<string> {
  await api.type(
    `helm install agent-sandbox ${chartOf(release)} --set image.tag=${release},controller.extensions=true`,
  );
  const version = release === "v0.4.6" ? "v1alpha1" : "v1beta1";
  const spec = { podTemplate: { spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1" }] } } };
  const precious = { apiVersion: `agents.x-k8s.io/${version}`, kind: "Sandbox", metadata: { name: "precious" }, spec };
  return create(api, precious);
}

/** Returns its UID. */
export async function create(api: BareApiServer, sandbox: object): Promise<string> {
  await establishDefinitions(api);
  await api.type(`kubectl create -f - <<'END'\n${JSON.stringify(sandbox)}\nEND`);
  return uidOf(api);
}

/** In whichever version is served now: kubectl remembers what was served before. */
export const uidOf = (api: BareApiServer) =>
  api.type('rm -rf "$HOME/.kube/cache"; kubectl get sandboxes.agents.x-k8s.io precious -o jsonpath={.metadata.uid}');

/** No program serves the webhook. Both versions have what a sandbox needs here. */
export async function convertByNothing(api: BareApiServer): Promise<void> {
  const patch = '{"spec":{"conversion":{"strategy":"None","webhook":null}}}';
  for (const name of definitions) await api.type(`kubectl patch crd ${name} --type=merge -p '${patch}'`);
}

/** How many of the definitions have all annotations that keep them. */
export const fullyKept = async (api: BareApiServer) => {
  const { items } = JSON.parse(await api.type("kubectl get crd -o json"));
  return items.filter(({ metadata }: { metadata: { annotations?: Readonly<Record<string, string>> } }) =>
    Object.entries(keptByInstallers).every(([key, value]) => metadata.annotations?.[key] === value),
  ).length;
};

export const keptDefinitions = async (api: BareApiServer) => {
  const path = '{range .items[*]}{.metadata.name}={.metadata.annotations.helm\\.sh/resource-policy}{"\\n"}{end}';
  return (await api.type(`kubectl get crd -o 'jsonpath=${path}'`)).trim().split("\n").sort();
};
export const allKept = definitions.map((name) => `${name}=keep`);

export async function upgradeToOurs(api: BareApiServer, release: Release): Promise<void> {
  const [upgrade = ""] = commandsUnder(migrating, "## By Helm");
  expect(upgrade).toMatch(/^helm upgrade /);
  await api.type(filledIn(upgrade, release));
  await convertByNothing(api);
}

export const byHelm = (command: string) => !/kubectl apply |kubectl -n agent-sandbox-system/.test(command);

/** The steps of the page that apply to this release, for an installation by Helm. */
export const stepsBack = (release: Release): readonly string[] =>
  [
    "### 1. Lead the names of sandboxes to their Pods",
    ...(release === "v0.4.6" ? ["### 2. To v0.4: store all objects in v1alpha1"] : []),
    "### 3. Install the old release",
  ].flatMap((title) => commandsUnder(migrating, title).filter(byHelm));
