import type { Stored } from "../../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../../../api/kinds/sandbox.ts";
import { type SandboxClaim, sandboxClaimType } from "../../../../api/kinds/sandbox-claim.ts";
import { type SandboxWarmPool, sandboxWarmPoolType } from "../../../../api/kinds/sandbox-warm-pool.ts";
import { warmPoolSandboxLabel } from "../../../../api/rules/keys.ts";
import { nameHash } from "../../../../api/rules/names.ts";
import { openSandboxes } from "../../e2e/support/sandboxes.ts";
import type { ClusterUnderTest } from "../../support/cluster-under-test.ts";
import { eventually } from "../../support/eventually.ts";

const apiVersion = "extensions.agents.x-k8s.io/v1beta1";

/** The default program of the members: it does nothing, and exits within a second on SIGTERM. */
export const idleContainer = { name: "main", image: "busybox:1.36", command: ["sh", "-c", "exec sleep 3600"] };

export const templateNamed = (name: string, spec: object = {}, container: object = {}) => ({
  apiVersion,
  kind: "SandboxTemplate",
  metadata: { name },
  spec: {
    podTemplate: { spec: { terminationGracePeriodSeconds: 1, containers: [{ ...idleContainer, ...container }] } },
    ...spec,
  },
});

export const poolNamed = (name: string, replicas: number, template: string, spec: object = {}) => ({
  apiVersion,
  kind: "SandboxWarmPool",
  metadata: { name },
  spec: { replicas, sandboxTemplateRef: { name: template }, ...spec },
});

export const claimNamed = (name: string, pool: string, spec: object = {}) => ({
  apiVersion,
  kind: "SandboxClaim",
  metadata: { name },
  spec: { warmPoolRef: { name: pool }, ...spec },
});

const settleMs = 60_000;

/** A namespace of one test, and a user's view of templates, pools and claims in it. */
export async function openPools(cluster: ClusterUnderTest) {
  const test = await openSandboxes(cluster);
  const { namespace } = test;
  const { client } = cluster;
  const pool = (name: string): Promise<Stored<SandboxWarmPool>> => client.get(sandboxWarmPoolType, { namespace, name });
  const claim = (name: string): Promise<Stored<SandboxClaim>> => client.get(sandboxClaimType, { namespace, name });
  const sandboxes = async (labelSelector?: string): Promise<readonly Stored<Sandbox>[]> =>
    (await client.list(sandboxType, { namespace, labelSelector })).items;

  return {
    ...test,
    pool,
    claim,
    /** Creates a claim by a call of the API, as programs do. */
    create: (object: ReturnType<typeof claimNamed>) =>
      client.create<SandboxClaim>(sandboxClaimType, { ...object, metadata: { ...object.metadata, namespace } }),
    sandboxes,
    membersOf: (name: string) => sandboxes(`${warmPoolSandboxLabel}=${nameHash(name)}`),
    claimCondition: async (name: string, type: string) =>
      (await claim(name)).status?.conditions?.find((each) => each.type === type),
    /** Waits until a pool has `count` members, all of them ready, and none is being created or deleted. */
    untilFull: (name: string, replicas: number) =>
      eventually(async () => {
        const members = await sandboxes(`${warmPoolSandboxLabel}=${nameHash(name)}`);
        const { status, metadata } = await pool(name);
        const settled = members.every((member) => !member.metadata.deletionTimestamp);
        const isSeen = status?.observedGeneration === metadata.generation;
        return isSeen && settled && members.length === replicas && (status?.readyReplicas ?? 0) === replicas;
      }, settleMs),
    untilBound: (...names: readonly string[]) =>
      test.run(
        "wait",
        ...names.map((name) => `sandboxclaim/${name}`),
        "--for=condition=Ready",
        `--timeout=${settleMs / 1_000}s`,
      ),
    exists: (kind: string, name: string) =>
      test.run("get", kind, name, "--ignore-not-found", "--output=name").then((said) => said !== ""),
  };
}
