import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stored } from "../../../api/kinds/meta.ts";
import { type SandboxClaim, sandboxClaimType } from "../../../api/kinds/sandbox-claim.ts";
import { assignedSandboxAnnotation } from "../../../api/rules/keys.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { leadingReplica, programsOf, signalAll } from "../e2e/support/replicas.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { claimNamed, openPools, poolNamed, templateNamed } from "./support/pools.ts";

const warm = 12;
const claims = 20;

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const isAssigned = ({ metadata }: Stored<SandboxClaim>) =>
  metadata.annotations?.[assignedSandboxAnnotation] !== undefined;

/** Resolves as soon as a watch reports that `count` claims have been assigned a sandbox. */
async function untilAssigned(namespace: string, count: number): Promise<void> {
  const { client } = cluster;
  const { metadata } = await client.list(sandboxClaimType, { namespace });
  const options = { namespace, resourceVersion: metadata.resourceVersion };
  const assigned = new Set<string>();
  for await (const event of client.watch(sandboxClaimType, options, AbortSignal.timeout(60_000))) {
    if (event.type === "MODIFIED" && isAssigned(event.object)) assigned.add(event.object.metadata.name);
    if (assigned.size >= count) return;
  }
}

it("gives each claim one sandbox and leaks none when the leader is killed between two adoptions", async () => {
  await using test = await openPools(cluster);
  await test.apply(templateNamed("t"), poolNamed("p", warm, "t"));
  await test.untilFull("p", warm);
  const spares = new Set((await test.membersOf("p")).map(({ metadata }) => metadata.name));
  const names = Array.from({ length: claims }, (_, at) => `claim-${at}`);
  const victims = programsOf(await leadingReplica(cluster));
  // It stands still until there are all claims, so that it is among them when it is killed, however long they take to make.
  signalAll(victims, "SIGSTOP");
  const assigned = untilAssigned(test.namespace, 3);
  await Promise.all(names.map((name) => test.create(claimNamed(name, "p"))));
  signalAll(victims, "SIGCONT");
  await assigned;
  signalAll(victims, "SIGKILL");
  const left = (await Promise.all(names.map((name) => test.claim(name)))).filter((claim) => !isAssigned(claim));
  expect(left.length).toBeGreaterThan(0);

  await test.untilBound(...names);
  await test.untilFull("p", warm);
  const given = (await Promise.all(names.map((name) => test.claim(name)))).map(({ status }) => status?.sandbox?.name);
  expect(new Set(given).size).toBe(claims);
  expect(spares.isSubsetOf(new Set(given))).toBe(true);
  const all = await test.sandboxes();
  expect(all).toHaveLength(claims + warm);
  for (const { metadata } of all) expect(metadata.ownerReferences).toHaveLength(1);

  await test.run("delete", "sandboxclaims", "--all");
  await eventually(async () => (await test.sandboxes()).length === warm);
  await test.untilFull("p", warm);
  const rollout = ["rollout", "status", "deployment/agent-sandbox-controller", "--timeout=60s"];
  await cluster.kubectl.run([...rollout, `--namespace=${release.namespace}`]);
}, 300_000);
