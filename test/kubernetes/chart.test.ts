import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { run } from "../../cluster/command.ts";
import { release } from "../../cluster/release/install-chart.ts";
import { renderManifests } from "../../scripts/manifests/render-manifests.ts";
import { type ClusterUnderTest, connectToCluster } from "./support/cluster-under-test.ts";

const repository = join(import.meta.dirname, "..", "..");
const chart = join(repository, "charts", "rouse");
const helm = (...args: readonly string[]) => run(inject("helm"), args);

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: object };
  readonly rules?: readonly { readonly resources: readonly string[] }[];
  readonly spec?: {
    readonly selector?: object;
    readonly versions?: readonly { readonly name: string }[];
    readonly conversion?: {
      readonly webhook?: { readonly clientConfig: { readonly service: { readonly name: string } } };
    };
  };
}

/** The objects of the chart, without its own test. */
async function objectsOf(...args: readonly string[]): Promise<readonly Rendered[]> {
  const text = await helm("template", release.name, chart, "--skip-tests", ...args);
  const objects = parseAllDocuments(text).map((document): Rendered | null => document.toJS());
  return objects.filter((object) => object !== null);
}

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe("the chart", () => {
  it("matches the plain manifests; else run `npm run generate:manifests`", () => {
    const files = renderManifests(inject("helm"));
    const read = (path: string) =>
      existsSync(join(repository, path)) ? readFileSync(join(repository, path), "utf8") : "";
    expect([...files].filter(([path, text]) => read(path) !== text).map(([path]) => path)).toEqual([]);
  });

  it("is accepted by the API server as plain manifests, over its own install", async () => {
    const args = [
      "apply",
      "--kustomize",
      join(repository, "k8s"),
      "--dry-run=server",
      "--server-side",
      "--force-conflicts",
    ];
    expect(await cluster.kubectl.run(args)).toContain("deployment.apps/sandbox-router serverside-applied");
  });

  it.each([
    ["auth.mode=maybe", "/auth/mode"],
    ["replicaCount=none", "/replicaCount"],
    ["controller.extraArgs[0]=worker", "/controller/extraArgs/0"],
    ["activator.repicaCount=2", "/activator"],
    ["controller.kubeApiBurst=0", "/controller/kubeApiBurst"],
    ["controller.enableTracing=perhaps", "/controller/enableTracing"],
    ["controller.sandboxWriteBehindWindow=5", "/controller/sandboxWriteBehindWindow"],
    ["controller.tlsMinVersion=1.2", "/controller/tlsMinVersion"],
    ["controller.zapLogLevel=loud", "/controller/zapLogLevel"],
    ["controller.extraEnv[0].value=x", "/controller/extraEnv/0"],
    ["activator.extraEnv[0].value=x", "/activator/extraEnv/0"],
    ["controller.noSuchFlag=true", "/controller"],
    ["metrics.serviceMonitor.interval=often", "/metrics/serviceMonitor/interval"],
    ["metrics.prometheusRule.additionalGroups[0].name=x", "/metrics/prometheusRule/additionalGroups/0"],
    ["podSecurityContext=none", "/podSecurityContext"],
    ["namespace.name=Not_One", "/namespace/name"],
    ["namespace.labels.team=ours", "/namespace"],
    ["nameOverride=-", "/nameOverride"],
    ["v1alpha1.served=true", "/v1alpha1"],
    ["hibernation.agent.runsc=bin/runsc", "/hibernation/agent/runsc"],
    ["hibernation.agent.store.maxBytes=-1", "/hibernation/agent/store/maxBytes"],
    ["auth.tokenReview.audiences[0]=a b", "/auth/tokenReview/audiences/0"],
  ])("rejects %s with the path of the error", async (value, path) => {
    await expect(helm("template", release.name, chart, "--set", value)).rejects.toThrow(`at '${path}'`);
  });

  it("admits all clients to sandboxes only with the value for that", async () => {
    expect(await helm("template", release.name, chart)).not.toContain("allow-all");
    expect(await helm("template", release.name, chart, "--set=auth.mode=none")).toContain("--authz-mode=allow-all");
  });

  it("grants the activator token reviews and access reviews only with the values for them", async () => {
    const rightsOf = async (...set: readonly string[]) => {
      const rendered = await objectsOf(...set);
      const role = rendered.find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === "sandbox-router");
      return role?.rules?.flatMap(({ resources }) => resources).filter((each) => each.endsWith("reviews"));
    };
    expect(await rightsOf()).toEqual([]);
    const reviewed = "--set=auth.mode=tokenreview";
    expect(await rightsOf(reviewed)).toEqual(["tokenreviews", "subjectaccessreviews"]);
    expect(await rightsOf(reviewed, "--set=auth.tokenReview.reviewAccess=false")).toEqual(["tokenreviews"]);
    const rendered = await helm("template", release.name, chart, reviewed, "--set=auth.tokenReview.audiences={a,b}");
    for (const flag of ["mode=tokenreview", "tokenreview-require-token=true", "tokenreview-audiences=a,b"]) {
      expect(rendered).toContain(`--authz-${flag}`);
    }
    expect(rendered).not.toContain("ROUTER_AUTH_TOKEN");
  });

  it("turns values into flags of the same names, numbers without an exponent, and only if they are set", async () => {
    expect(await helm("template", release.name, chart)).not.toContain("--kube-api-qps");
    const rendered = await helm(
      "template",
      release.name,
      chart,
      "--set=controller.pprofBlockProfileRate=1000000,controller.kubeApiQps=-1,controller.zapLogLevel=debug",
      "--set-json=controller.sandboxWarmPoolMaxRefillRate=2.5",
    );
    for (const flag of [
      "--pprof-block-profile-rate=1000000",
      "--kube-api-qps=-1",
      "--zap-log-level=debug",
      "--sandbox-warm-pool-max-refill-rate=2.5",
    ]) {
      expect(rendered).toContain(`- "${flag}"\n`);
    }
  });

  it("configures no activators in the controller and no drain listener without inactivity suspension", async () => {
    const rendered = await helm("template", release.name, chart, "--set=autoSuspension.enabled=false");
    for (const part of ["activator-namespace", "/etc/rouse/drain", "31999", "POD_IP"]) {
      expect(rendered).not.toContain(part);
    }
  });

  it("lets the controller remove EndpointSlices of before without inactivity suspension, and no more", async () => {
    const rendered = await objectsOf("--set=autoSuspension.enabled=false");
    const rules = rendered.flatMap(({ metadata, rules = [] }) =>
      rules.map((rule) => ({ role: metadata.name, ...rule })),
    );
    const rights = rules.filter(({ resources }) => resources.includes("endpointslices"));
    expect(rights).toMatchObject([{ role: "agent-sandbox-controller", verbs: ["delete", "list", "update"] }]);
  });

  it("uses the namespace of the values for all objects, and creates and keeps it if requested", async () => {
    const rendered = await objectsOf("--namespace=of-helm-alone", "--set=namespace.name=there,namespace.create=true");
    const namespaces = new Set(rendered.map(({ metadata }) => metadata.namespace));
    expect([...namespaces].filter((namespace) => namespace !== undefined)).toEqual(["there"]);
    const [made] = rendered.filter(({ kind }) => kind === "Namespace");
    expect(made?.metadata).toMatchObject({ name: "there", annotations: { "helm.sh/resource-policy": "keep" } });
    expect(JSON.stringify(rendered)).not.toContain("of-helm-alone");
  });

  it("lets nameOverride change a label of the controller's objects, but no selector", async () => {
    const rendered = await objectsOf("--set=nameOverride=ours");
    const deployment = rendered.find(({ metadata }) => metadata.name === "agent-sandbox-controller");
    expect(deployment?.metadata.labels).toMatchObject({ "app.kubernetes.io/name": "ours" });
    const selectors = rendered.flatMap(({ spec }) => (spec?.selector ? [JSON.stringify(spec.selector)] : []));
    expect(selectors.filter((selector) => selector.includes("ours"))).toEqual([]);
  });

  it("uses the configured name of the webhook's Service everywhere", async () => {
    const rendered = await objectsOf("--set=webhookServiceName=ours");
    const text = JSON.stringify(rendered);
    expect(text).not.toContain("agent-sandbox-webhook-service");
    expect(text).toContain("--webhook-service-name=ours");
    const definitions = rendered.filter(({ kind }) => kind === "CustomResourceDefinition");
    expect(definitions.map(({ spec }) => spec?.conversion?.webhook?.clientConfig.service.name)).toEqual(
      Array(4).fill("ours"),
    );
    expect(rendered.some(({ kind, metadata }) => kind === "Service" && metadata.name === "ours")).toBe(true);
  });

  it("has no v1alpha1, no webhook and no rights on definitions if v1alpha1 is disabled", async () => {
    const rendered = await objectsOf("--set=v1alpha1.enabled=false");
    const definitions = rendered.filter(({ kind }) => kind === "CustomResourceDefinition");
    expect(definitions.map(({ spec }) => [spec?.conversion, spec?.versions?.map(({ name }) => name)])).toEqual(
      Array(4).fill([{ strategy: "None" }, ["v1beta1"]]),
    );
    const others = JSON.stringify(rendered.filter((object) => !definitions.includes(object)));
    expect(others).toContain("--enable-webhook=false");
    const ofTheWebhook = ["webhook-service", "9443", "agent-sandbox-webhook-certs", "customresourcedefinitions"];
    expect(ofTheWebhook.filter((part) => others.includes(part))).toEqual([]);
  });

  it("creates the objects for Prometheus and its rules if requested", async () => {
    const kinds = async (...set: readonly string[]) => {
      const text = await helm("template", release.name, chart, ...set.map((value) => `--set=${value}`));
      return parseAllDocuments(text).map((document): { kind?: string; spec?: { groups?: object[] } } =>
        document.toJS(),
      );
    };
    const asked = (object: { kind?: string }) => ["ServiceMonitor", "PrometheusRule"].includes(object?.kind ?? "");
    expect((await kinds()).filter(asked)).toEqual([]);
    const rendered = (
      await kinds(
        "metrics.serviceMonitor.enabled=true",
        "metrics.prometheusRule.enabled=true",
        "metrics.prometheusRule.additionalGroups[0].name=ours",
        "metrics.prometheusRule.additionalGroups[0].rules[0].alert=Ours",
      )
    ).filter(asked);
    expect(rendered.map(({ kind }) => kind).sort()).toEqual(["PrometheusRule", "ServiceMonitor", "ServiceMonitor"]);
    const withAgents = await kinds("metrics.serviceMonitor.enabled=true", "hibernation.enabled=true");
    expect(withAgents.filter(asked)).toHaveLength(3);
    const { groups } = rendered.find(({ kind }) => kind === "PrometheusRule")?.spec ?? {};
    expect(groups).toMatchObject([
      { name: "agent-sandbox-controller.rules" },
      { name: "sandbox-router.rules" },
      { name: "ours" },
    ]);
  });

  it("serves sandboxes over TLS if the Secret of the certificate is set", async () => {
    expect(await helm("template", release.name, chart)).not.toContain("8443");
    const rendered = await helm("template", release.name, chart, "--set=activator.tls.existingSecret=router-tls");
    for (const part of ["--https-bind-address=:8443", "secretName: router-tls", "targetPort: https", "- port: https"]) {
      expect(rendered).toContain(part);
    }
  });

  it("lets values change the security contexts of Pods and containers, by field", async () => {
    const set = "--set=containerSecurityContext.runAsUser=7";
    const rendered = await helm("template", release.name, chart, "--skip-tests", set);
    expect(rendered.match(/runAsUser: 7/g)).toHaveLength(2);
    expect(rendered.match(/readOnlyRootFilesystem: true/g)).toHaveLength(2);
  });

  it("keeps the definitions, and so the users' objects, when it is uninstalled", async () => {
    const names = await cluster.kubectl.run([
      "get",
      "crd",
      '--output=jsonpath={range .items[*]}{.metadata.annotations.helm\\.sh/resource-policy}{"\\n"}{end}',
    ]);
    expect(names.trim().split("\n")).toEqual(expect.arrayContaining(["keep", "keep", "keep", "keep"]));
    expect(names.replaceAll("keep", "").trim()).toBe("");
  });

  it("wakes a suspended sandbox in its own test", async () => {
    const inRelease = [`--kubeconfig=${inject("kubeconfig")}`, `--namespace=${release.namespace}`];
    expect(await helm("test", release.name, ...inRelease, "--timeout=60s")).toContain("Phase:          Succeeded");
    const said = await cluster.kubectl.run(["logs", "rouse-test-client", `--namespace=${release.namespace}`]);
    expect(said).toBe("200 awake\n");
  });
});
