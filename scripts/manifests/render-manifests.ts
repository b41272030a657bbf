import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";

const repository = join(import.meta.dirname, "..", "..");
const chart = join(repository, "charts", "rouse");
const namespace = "agent-sandbox-system";
// Neither a chart nor a kustomization can reference a file outside of its folder.
const chartDefinitions = "charts/rouse/files/crds";

/** Templates for Helm only. The definitions are in `crds` already; the operator creates the token. */
const onlyInChart = /^(crds|tests\/.*|activator\/token)\.yaml$/;
const labelsOfHelm = ["helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"];

interface Rendered {
  readonly metadata: { readonly labels?: Record<string, string> };
  readonly spec?: { readonly template?: Rendered };
}

/** The files of `k8s/`, and the chart's copies of the definitions, by their paths in the repository. */
export function renderManifests(helm: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  // The folder of a kind that is not installed by default is none of them.
  const definitions = readdirSync(join(repository, "crds"))
    .filter((name) => name.endsWith(".yaml"))
    .sort();
  for (const name of definitions) {
    files.set(join(chartDefinitions, name), readFileSync(join(repository, "crds", name), "utf8"));
  }
  files.set(join(chartDefinitions, "kustomization.yaml"), kustomization(definitions));
  const documents = new Map<string, object[]>([["namespace.yaml", [namespaceObject]]]);
  for (const { template, object } of renderChart(helm)) {
    if (onlyInChart.test(template)) continue;
    const name = template.replaceAll("/", "-").replace(/^(\w+)-\1\.yaml$/, "$1.yaml");
    documents.set(name, [...(documents.get(name) ?? []), object]);
  }
  for (const [name, objects] of documents) {
    files.set(join("k8s", name), objects.map((object) => stringify(object, { lineWidth: 0 })).join("---\n"));
  }
  files.set("k8s/kustomization.yaml", kustomization([join("..", chartDefinitions), ...documents.keys()]));
  return files;
}

const namespaceObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };

const kustomization = (resources: readonly string[]) =>
  stringify({ apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources });

function* renderChart(helm: string): Generator<{ readonly template: string; readonly object: object }> {
  const text = execFileSync(helm, ["template", "rouse", chart, `--namespace=${namespace}`], {
    encoding: "utf8",
    maxBuffer: 64 << 20,
  });
  for (const part of text.split(/^---$/m)) {
    const template = /^# Source: rouse\/templates\/(.+)$/m.exec(part)?.[1];
    if (template === undefined) continue;
    for (const document of parseAllDocuments(part)) {
      const object: Rendered | null = document.toJS();
      if (object === null) continue;
      withoutHelm(object);
      yield { template, object };
    }
  }
}

/** Removes the labels that say that Helm manages an object. */
function withoutHelm({ metadata, spec }: Rendered): void {
  for (const label of labelsOfHelm) delete metadata.labels?.[label];
  if (spec?.template) withoutHelm(spec.template);
}
