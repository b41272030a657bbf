import { nodeBaseImage } from "../../../../cluster/images/node-base.ts";
import { program } from "../../e2e/support/program.ts";
import { openPools } from "../../extensions/support/pools.ts";
import type { ClusterUnderTest } from "../../support/cluster-under-test.ts";
import { eventually } from "../../support/eventually.ts";

/** The older version of each kind, in the form for `kubectl`. */
export const older = {
  Sandbox: "sandboxes.v1alpha1.agents.x-k8s.io",
  SandboxTemplate: "sandboxtemplates.v1alpha1.extensions.agents.x-k8s.io",
  SandboxWarmPool: "sandboxwarmpools.v1alpha1.extensions.agents.x-k8s.io",
  SandboxClaim: "sandboxclaims.v1alpha1.extensions.agents.x-k8s.io",
} as const;

const idle = { name: "main", image: "busybox:1.36", command: ["sh", "-c", "exec sleep 3600"] };
const podTemplate = (container: object) => ({
  spec: { terminationGracePeriodSeconds: 1, containers: [container] },
});

const old = (kind: keyof typeof older, name: string, spec: object) => ({
  apiVersion: `${kind === "Sandbox" ? "" : "extensions."}agents.x-k8s.io/v1alpha1`,
  kind,
  metadata: { name },
  spec,
});

const template = (name: string) => old("SandboxTemplate", name, { podTemplate: podTemplate(idle) });
const claim = (name: string, template: string, warmpool?: string) =>
  old("SandboxClaim", name, { sandboxTemplateRef: { name: template }, ...(warmpool && { warmpool }) });

/** A program that answers, and keeps files. */
const running = old("Sandbox", "running", {
  service: true,
  podTemplate: podTemplate({
    name: "main",
    image: nodeBaseImage,
    command: ["node", "--eval", program],
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  }),
  volumeClaimTemplates: [
    {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
    },
  ],
});

/** By the name of the claim: a pattern of the name of its sandbox. */
const claims = { warm: /^p-/, named: /^p-/, cold: /^cold$/, alone: /^alone$/ };

export type UsedBefore = Awaited<ReturnType<typeof useBefore>>;

interface Shown {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: object;
  readonly status?: {
    readonly readyReplicas?: number;
    readonly sandbox?: { readonly name?: string };
    readonly containerStatuses?: readonly { readonly restartCount: number; readonly containerID: string }[];
  };
}

/** Creates the objects of users with the installed controller: all in `v1alpha1`, all ready. */
export async function useBefore(cluster: ClusterUnderTest) {
  const test = await openOlder(cluster);
  const poolIsFull = () => eventually(async () => (await test.one("SandboxWarmPool", "p")).status?.readyReplicas === 2);
  const ready = (...resources: readonly string[]) =>
    test.run("wait", ...resources, "--for=condition=Ready", "--timeout=60s");

  await test.apply(
    template("t"),
    template("without-pool"),
    old("SandboxWarmPool", "p", {
      replicas: 2,
      sandboxTemplateRef: { name: "t" },
      // The strictest strategy: a controller that finds the members stale replaces all of them.
      updateStrategy: { type: "Recreate" },
    }),
    running,
    old("Sandbox", "asleep", { podTemplate: podTemplate(idle) }),
  );
  await poolIsFull();
  await ready(`${older.Sandbox}/running`, `${older.Sandbox}/asleep`);
  await test.run("scale", `${older.Sandbox}/asleep`, "--replicas=0");
  await test.apply(
    claim("warm", "t"),
    claim("named", "t", "p"),
    claim("cold", "t", "none"),
    claim("alone", "without-pool"),
  );
  await ready(...Object.keys(claims).map((name) => `${older.SandboxClaim}/${name}`));
  await test.run("wait", "pod/asleep", "--for=delete", "--timeout=60s");
  await poolIsFull();
  for (const [name, served] of Object.entries(claims)) {
    const { status } = await test.one("SandboxClaim", name);
    if (!served.test(status?.sandbox?.name ?? ""))
      throw new Error(`claim ${name} is served by ${status?.sandbox?.name}`);
  }
  await test.run("exec", "running", "--", "node", "--eval", 'fs.writeFileSync("/data/file", "kept")');
  return test;
}

/** A namespace, and its objects in `v1alpha1`. */
async function openOlder(cluster: ClusterUnderTest) {
  const test = await openPools(cluster);
  const list = async (kinds: string): Promise<readonly Shown[]> =>
    JSON.parse(await test.run("get", kinds, "--output=json")).items;
  const one = async (kind: keyof typeof older, name: string): Promise<Shown> =>
    JSON.parse(await test.run("get", older[kind], name, "--output=json"));

  return {
    ...test,
    one,
    claims: Object.keys(claims),
    /** All objects that users have created, in `v1alpha1`. */
    asked: async () =>
      (await list(Object.values(older).join())).map(({ kind, metadata: { name, uid }, spec }) => ({
        kind,
        name,
        uid,
        spec,
      })),
    /** The sandbox of each claim. */
    served: async () =>
      (await list(older.SandboxClaim)).map(({ metadata, status }) => [metadata.name, status?.sandbox?.name]),
    /** All Pods, Services, volume claims and NetworkPolicies, with their UIDs. */
    made: async () =>
      (await list("pods,services,persistentvolumeclaims,networkpolicies")).map(({ kind, metadata, status }) => ({
        kind,
        name: metadata.name,
        uid: metadata.uid,
        containers: status?.containerStatuses?.map(({ restartCount, containerID }) => ({ restartCount, containerID })),
      })),
    /** A NetworkPolicy of a single claim, as earlier releases created them. */
    async makeLegacyPolicy(claim: string) {
      const { metadata } = await one("SandboxClaim", claim);
      const owner = { apiVersion: "extensions.agents.x-k8s.io/v1alpha1", kind: "SandboxClaim", controller: true };
      await test.apply({
        apiVersion: "networking.k8s.io/v1",
        kind: "NetworkPolicy",
        metadata: { name: `${claim}-network-policy`, ownerReferences: [{ ...owner, name: claim, uid: metadata.uid }] },
        spec: { podSelector: { matchLabels: { nobody: "has-this" } } },
      } as { readonly metadata: object });
    },
  };
}
