import { cp, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { run } from "../../cluster/command.ts";
import { release } from "../../cluster/release/install-chart.ts";

const chart = join(import.meta.dirname, "..", "..", "charts", "rouse");
const helm = (...args: readonly string[]) => run(inject("helm"), args);
const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: object };
  readonly spec?: object;
}

/** The objects of the chart with these values, by kind and name. */
async function rendered(...values: readonly string[]): Promise<ReadonlyMap<string, Rendered>> {
  const text = await helm("template", release.name, chart, "--skip-tests", ...values.map((value) => `--set=${value}`));
  const objects = parseAllDocuments(text).map((document): Rendered | null => document.toJS());
  return new Map(
    objects.flatMap((object) => (object ? [[`${object.kind} ${object.metadata.name}`, object] as const] : [])),
  );
}

/** The notes of the chart after an install. Helm renders them only on a cluster, so a copy of the chart has them in an object. */
async function chartNotes(namespace: string, ...values: readonly string[]): Promise<string> {
  await using copy = await mkdtempDisposable(join(tmpdir(), "chart-notes-"));
  await cp(chart, copy.path, { recursive: true });
  const notes = await readFile(join(chart, "templates", "NOTES.txt"), "utf8");
  const object = `kind: Notes\nmetadata: {name: notes}\ntext: {{ include "notes" . | toJson }}\n`;
  await writeFile(join(copy.path, "templates", "notes.yaml"), `{{- define "notes" }}${notes}{{ end }}\n${object}`);
  const args = [`--namespace=${namespace}`, "--show-only=templates/notes.yaml"];
  return await helm("template", release.name, copy.path, ...args, ...values.map((value) => `--set=${value}`));
}

const deployments = ["agent-sandbox-controller", "sandbox-router"] as const;

describe("controllers without leader election", () => {
  it.each([["controller.leaderElect=false"], ["controller.extraArgs[0]=--leader-elect=false"]])(
    "are refused when there would be two, with %s",
    async (value) => {
      await expect(rendered(value)).rejects.toThrow("set replicaCount=1, or controller.leaderElect=true");
    },
  );

  it("have one replica, and an upgrade ends it before it starts the next", async () => {
    const alone = await rendered("controller.leaderElect=false", "replicaCount=1");
    expect(alone.get("Deployment agent-sandbox-controller")?.spec).toMatchObject({
      replicas: 1,
      strategy: { type: "Recreate" },
    });
    expect((await rendered()).get("Deployment agent-sandbox-controller")?.spec).not.toHaveProperty("strategy");
  });
});

describe("the by-name listener", () => {
  it("is absent unless it is enabled, and then has a port of the Service and in the NetworkPolicy", async () => {
    const namesIn = (objects: ReadonlyMap<string, Rendered>) =>
      ["Deployment sandbox-router", "Service sandbox-router-svc", "NetworkPolicy sandbox-router"].map((name) =>
        JSON.stringify(objects.get(name)).includes("by-name"),
      );
    expect(namesIn(await rendered())).toEqual([false, false, false]);
    const named = await rendered("activator.byName.enabled=true", "activator.byName.port=5433");
    expect(namesIn(named)).toEqual([true, true, true]);
    expect(JSON.stringify(named.get("Deployment sandbox-router"))).toContain("--by-name-bind-address=:8447");
    expect(named.get("Service sandbox-router-svc")?.spec).toMatchObject({
      ports: expect.arrayContaining([{ name: "by-name", port: 5433, targetPort: "by-name" }]),
    });
  });
});

describe("hibernation", () => {
  it("brings nothing about memory unless it is enabled", async () => {
    expect([...(await rendered()).keys()].filter((name) => /agent$|memory|RuntimeClass/.test(name))).toEqual([]);
  });

  it("starts agents on the nodes of the values, with the runsc and the limits of the values", async () => {
    const objects = await rendered(
      "hibernation.enabled=true",
      "hibernation.agent.runsc=/opt/gvisor/runsc",
      "hibernation.agent.store.maxBytes=50000000000",
      "hibernation.agent.nodeSelector.pool=gvisor",
      "hibernation.agent.tolerations[0].operator=Exists",
      "hibernation.runtimeClass.create=true",
    );
    const agents = JSON.stringify(objects.get("DaemonSet rouse-node-agent"));
    const nodes = { "hibernation.rouse.dev/node": "true", pool: "gvisor" };
    for (const part of [
      '"--runsc=/node/runsc/runsc"',
      '"--max-store-bytes=50000000000"',
      '"--min-free-percent=15"',
      '"--max-namespace-percent=50"',
      '"mountPropagation":"HostToContainer"',
      '"hostPath":{"path":"/opt/gvisor","type":"Directory"}',
      `"nodeSelector":${JSON.stringify(nodes)}`,
      '"tolerations":[{"operator":"Exists"}]',
      '"capabilities":{"add":["KILL","SYS_PTRACE"],"drop":["ALL"]}',
    ]) {
      expect(agents).toContain(part);
    }
    expect(objects.get("RuntimeClass gvisor")).toMatchObject({
      handler: "gvisor",
      scheduling: { nodeSelector: nodes },
    });
    expect([...objects.keys()]).toContain("NetworkPolicy rouse-node-agent");
  });
});

describe("scoped tokens", () => {
  const secret = "auth.scopedToken.existingSecret=signing";

  it("are checked with the key in the Secret of the values, at the path that the flag names", async () => {
    const objects = await rendered("auth.mode=scopedtoken", secret, "auth.scopedToken.secretKey=signing.key");
    const pod = JSON.stringify(objects.get("Deployment sandbox-router"));
    expect(pod).toContain('"--authz-mode=scoped-token","--authz-scoped-token-secret-file=/etc/rouse/scoped-token/key"');
    expect(pod).toContain('{"name":"scoped-token","mountPath":"/etc/rouse/scoped-token","readOnly":true}');
    const items = [{ key: "signing.key", path: "key" }];
    expect(pod).toContain(JSON.stringify({ name: "scoped-token", secret: { secretName: "signing", items } }));
    expect(pod).not.toContain("ROUTER_AUTH_TOKEN");
    expect([...objects.keys()]).not.toContain("Secret sandbox-router-token");
  });

  it("are mounted without inactivity suspension and TLS too, and by no other mode", async () => {
    const alone = await rendered("auth.mode=scopedtoken", secret, "autoSuspension.enabled=false");
    expect(JSON.stringify(alone.get("Deployment sandbox-router"))).toContain('"volumeMounts":[{"name":"scoped-token"');
    expect(JSON.stringify((await rendered(secret)).get("Deployment sandbox-router"))).not.toContain("scoped-token");
  });

  it("of version 2 are checked with public keys in that Secret, alone or beside version 1 until a time", async () => {
    const v2 = ["auth.mode=scopedtoken", secret, "auth.scopedToken.verificationKeys=keys.json"];
    const pod = async (...more: readonly string[]) =>
      JSON.stringify((await rendered(...v2, ...more)).get("Deployment sandbox-router"));
    const alone = await pod("auth.scopedToken.secretKey=");
    expect(alone).toContain("--authz-scoped-token-verification-keys-file=/etc/rouse/scoped-token/verification-keys");
    expect(alone).toContain('"items":[{"key":"keys.json","path":"verification-keys"}]');
    expect(alone).not.toMatch(/token-secret-file|v1-until/);
    const both = await pod("auth.scopedToken.v1Until=2027-01-31T00:00:00Z");
    expect(both).toContain('"--authz-scoped-token-v1-until=2027-01-31T00:00:00Z"');
    expect(both).toContain("--authz-scoped-token-secret-file");
    await expect(pod()).rejects.toThrow("need auth.scopedToken.v1Until");
    await expect(rendered("auth.mode=scopedtoken", secret, "auth.scopedToken.secretKey=")).rejects.toThrow(
      "needs keys",
    );
  });

  it("need a Secret: the chart makes no key that nobody else has", async () => {
    await expect(rendered("auth.mode=scopedtoken")).rejects.toThrow("set auth.scopedToken.existingSecret");
  });
});

describe("HTTP/2", () => {
  it("is accepted by default, and not if the value says so", async () => {
    const argsWith = async (...values: readonly string[]) =>
      JSON.stringify((await rendered(...values)).get("Deployment sandbox-router"));
    expect(await argsWith()).not.toContain("--http2");
    expect(await argsWith("activator.http2=false")).toContain('"--http2=false"');
    const origins = "activator.grpcWebOrigins={https://a.example,https://b.example}";
    expect(await argsWith(origins)).toContain('"--grpc-web-origins=https://a.example,https://b.example"');
  });
});

it("PROXY headers are expected from the networks of the value, and from none by default", async () => {
  const argsWith = async (...values: readonly string[]) =>
    JSON.stringify((await rendered(...values)).get("Deployment sandbox-router"));
  expect(await argsWith()).not.toContain("--proxy-protocol-networks");
  const networks = "activator.proxyProtocol.networks={10.20.0.0/16,fd00::/8}";
  expect(await argsWith(networks)).toContain("--proxy-protocol-networks=10.20.0.0/16,fd00::/8");
  await expect(rendered("activator.proxyProtocol.networks={localhost}")).rejects.toThrow("networks");
});

describe("paths that name sandboxes", () => {
  const argsWith = async (...values: readonly string[]) =>
    JSON.stringify((await rendered(...values)).get("Deployment sandbox-router"));

  it("are off by default", async () => {
    expect(await argsWith()).not.toMatch(/--path-routing|--authz-cookie/);
  });

  it("and the cookie for them have the settings of the values", async () => {
    const paths = ["activator.pathRouting.prefix=/s", "activator.pathRouting.rewriteResponses=false"];
    const cookie = ["auth.cookie.name=door", "auth.cookie.queryParam=token", "auth.cookie.sameSite=strict"];
    const args = await argsWith(
      ...paths,
      ...cookie,
      "auth.cookie.allowedOrigins={https://a.example,https://b.example}",
    );
    expect(args).toContain('"--path-routing-prefix=/s","--path-routing-rewrite-responses=false"');
    expect(args).toContain(
      '"--authz-cookie-name=door","--authz-cookie-query-param=token","--authz-cookie-samesite=strict"',
    );
    expect(args).toContain('"--authz-cookie-allowed-origins=https://a.example,https://b.example"');
    expect(args).not.toMatch(/insecure|trust-forwarded/);
    const forTests = await argsWith(
      ...paths,
      ...cookie,
      "auth.cookie.insecure=true",
      "auth.cookie.trustForwardedProto=true",
    );
    expect(forTests).toContain('"--authz-cookie-insecure","--authz-trust-forwarded-proto"');
  });
});

describe("the connections of an activator", () => {
  const policy = async (...values: readonly string[]) =>
    (await rendered(...values)).get("NetworkPolicy sandbox-router")?.spec;

  it("are not restricted by default, because the port of the API server is not known", async () => {
    expect(await policy()).toMatchObject({ policyTypes: ["Ingress"] });
    expect(await policy()).not.toHaveProperty("egress");
  });

  it("are restricted to Pods of sandboxes, DNS, the API server and the rules of the values", async () => {
    const rule = "networkPolicy.activatorEgress.rules[0].ports[0].port=4317";
    const ports = "networkPolicy.activatorEgress.apiServerPorts={8443}";
    expect(await policy("networkPolicy.activatorEgress.restricted=true", ports, rule)).toMatchObject({
      policyTypes: ["Ingress", "Egress"],
      egress: [
        {
          to: [
            {
              namespaceSelector: {},
              podSelector: { matchExpressions: [{ key: "agents.x-k8s.io/sandbox-name-hash", operator: "Exists" }] },
            },
          ],
          ports: [{ protocol: "TCP" }],
        },
        {
          ports: [
            { port: 53, protocol: "UDP" },
            { port: 53, protocol: "TCP" },
            { port: 8443, protocol: "TCP" },
          ],
        },
        { ports: [{ port: 4317 }] },
      ],
    });
  });
});

describe("the shutdown time of an activator", () => {
  it("follows from the values, in its flags and in the grace period of its Pod", async () => {
    const objects = await rendered("activator.drainSettleSeconds=45", "activator.shutdownTimeoutSeconds=100");
    const pod = JSON.stringify(objects.get("Deployment sandbox-router"));
    expect(pod).toContain('"terminationGracePeriodSeconds":160,');
    expect(pod).toContain('"--drain-settle=45s","--shutdown-timeout=100s"');
  });

  it.each([
    ["0", 595, "0s"],
    ["null", 600, "5s"],
  ])("has a default with drainSettleSeconds=%s, as in the values of an older chart", async (value, grace, flag) => {
    const objects = await rendered(`activator.drainSettleSeconds=${value}`);
    const pod = JSON.stringify(objects.get("Deployment sandbox-router"));
    expect(pod).toContain(`"terminationGracePeriodSeconds":${grace},`);
    expect(pod).toContain(`"--drain-settle=${flag}"`);
  });

  it.each(["--drain-settle=30s", "-drain-settle", "--shutdown-timeout=1h"])(
    "cannot be set past the chart, by an argument %s",
    async (arg) => {
      const refused = rendered(`activator.extraArgs[0]=${arg}`);
      await expect(refused).rejects.toThrow("set activator.drainSettleSeconds and activator.shutdownTimeoutSeconds");
    },
  );
});

describe("the values of a platform team", () => {
  it("set an image by its digest, with any tag", async () => {
    const objects = await rendered(`image.digest=${digest}`, `activator.image.digest=${digest}`, "image.tag=v9");
    const images = deployments.map((name) => JSON.stringify(objects.get(`Deployment ${name}`)));
    expect(images[0]).toContain(`"image":"rouse.dev/controller@${digest}"`);
    expect(images[1]).toContain(`"image":"rouse.dev/activator@${digest}"`);
  });

  it("set the priority and the resources of both programs", async () => {
    const objects = await rendered(
      ...["priorityClassName=high", "activator.priorityClassName=higher"],
      ...["resources.requests.memory=1Gi", "activator.resources=null"],
    );
    const pods = deployments.map((name) => objects.get(`Deployment ${name}`)?.spec);
    expect(pods).toMatchObject([
      { template: { spec: { priorityClassName: "high" } } },
      { template: { spec: { priorityClassName: "higher" } } },
    ]);
    expect(JSON.stringify(pods[0])).toContain('"requests":{"cpu":"100m","memory":"1Gi"}');
    expect(JSON.stringify(pods[1])).not.toContain("requests");
  });

  it("set annotations of both ServiceAccounts, such as those for identities of a cloud", async () => {
    const key = "eks\\.amazonaws\\.com/role-arn";
    const objects = await rendered(
      `serviceAccount.annotations.${key}=one`,
      `activator.serviceAccount.annotations.${key}=two`,
    );
    const annotations = deployments.map((name) => objects.get(`ServiceAccount ${name}`)?.metadata.annotations);
    expect(annotations).toEqual([{ "eks.amazonaws.com/role-arn": "one" }, { "eks.amazonaws.com/role-arn": "two" }]);
  });

  it("limit the number of Pods that may be disrupted at a time, for each program", async () => {
    const budgets = (objects: ReadonlyMap<string, Rendered>) =>
      deployments.map((name) => objects.get(`PodDisruptionBudget ${name}`)?.spec);
    expect(budgets(await rendered())).toMatchObject([{ maxUnavailable: 1 }, { maxUnavailable: 1 }]);
    const changed = await rendered(
      "podDisruptionBudget.enabled=false",
      "activator.podDisruptionBudget.maxUnavailable=50%",
    );
    expect(budgets(changed)).toMatchObject([undefined, { maxUnavailable: "50%" }]);
  });

  it("set how clients reach the activators", async () => {
    const objects = await rendered(
      ...["activator.service.type=LoadBalancer", "activator.service.annotations.internal=yes"],
      ...[
        "activator.service.loadBalancerClass=example.com/own",
        "activator.service.loadBalancerSourceRanges={10.0.0.0/8}",
      ],
    );
    expect(objects.get("Service sandbox-router-svc")).toMatchObject({
      metadata: { annotations: { internal: "yes" } },
      spec: {
        type: "LoadBalancer",
        loadBalancerClass: "example.com/own",
        loadBalancerSourceRanges: ["10.0.0.0/8"],
      },
    });
    expect((await rendered()).get("Service sandbox-router-svc")?.spec).not.toHaveProperty("type");
  });

  it.each([
    ["image.digest=sha256:short", "/image/digest"],
    ["activator.service.type=ExternalName", "/activator/service/type"],
    ["activator.service.loadBalancerSourceRanges[0]=everywhere", "/activator/service/loadBalancerSourceRanges/0"],
    ["podDisruptionBudget.maxUnavailable=some", "/podDisruptionBudget/maxUnavailable"],
    ["serviceAccount.create=false", "/serviceAccount"],
  ])("are rejected as %s, with the path of the error", async (value, path) => {
    await expect(rendered(value)).rejects.toThrow(`at '${path}'`);
  });

  it("render as before with the values of an older chart", async () => {
    const older = ["serviceAccount=null", "podDisruptionBudget=null", "activator.service=null"];
    const both = ["activator.serviceAccount=null", "activator.podDisruptionBudget=null"];
    expect((await rendered(...older, ...both)).has("PodDisruptionBudget sandbox-router")).toBe(true);
  });
});

describe("the notes of the chart after an install", () => {
  it("warn if managed templates admit no activator, and only then", async () => {
    const warning = "admits only activators in the namespace agent-sandbox-system";
    expect(await chartNotes("elsewhere")).toContain(warning);
    expect(await chartNotes("agent-sandbox-system")).not.toContain(warning);
    expect(await chartNotes("elsewhere", "controller.extensions=false")).not.toContain(warning);
  });

  it("ask users who render without a cluster for their own token", async () => {
    expect(await chartNotes("agent-sandbox-system")).toContain("name it in auth.existingSecret");
    expect(await chartNotes("agent-sandbox-system", "auth.existingSecret=mine")).not.toContain("auth.existingSecret");
  });

  it.each([
    [true, true, "need a token of the cluster, such as that of a ServiceAccount with the permission"],
    [true, false, "Every token reaches every sandbox"],
    [false, true, "Requests without a token have the user system:anonymous"],
    [false, false, "WARNING: auth.tokenReview.requireToken and auth.tokenReview.reviewAccess are false"],
  ])("say who reaches sandboxes with requireToken=%s and reviewAccess=%s", async (required, reviewed, text) => {
    const notes = await chartNotes(
      "agent-sandbox-system",
      "auth.mode=tokenreview",
      `auth.tokenReview.requireToken=${required}`,
      `auth.tokenReview.reviewAccess=${reviewed}`,
    );
    expect(notes).toContain(text);
    expect(notes.includes("Authorization: Bearer")).toBe(required || reviewed);
    expect(notes.includes("kubectl create rolebinding")).toBe(reviewed);
  });

  it("name the example sandbox by headers where host names have no domain", async () => {
    expect(await chartNotes("agent-sandbox-system")).toContain("Host: hello.default.sandbox.localhost");
    expect(await chartNotes("agent-sandbox-system", "activator.domain=")).toContain("X-Sandbox-ID: hello");
  });

  it("offer the test of the chart unless only others can make tokens for it", async () => {
    const scoped = ["auth.mode=scopedtoken", "auth.scopedToken.existingSecret=keys"];
    const version2 = ["auth.scopedToken.secretKey=", "auth.scopedToken.verificationKeys=public"];
    expect(await chartNotes("agent-sandbox-system", ...scoped)).toContain("helm test");
    expect(await chartNotes("agent-sandbox-system", ...scoped, ...version2)).not.toContain("helm test");
  });
});
