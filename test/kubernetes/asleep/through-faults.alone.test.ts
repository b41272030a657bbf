import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventType, type Pod } from "../../../api/core.ts";
import type { Stored } from "../../../api/meta.ts";
import { release } from "../../../cluster/install-chart.ts";
import { systemClock } from "../../../lib/clock.ts";
import { anActivator, findDirectly } from "../e2e/support/direct-activator.ts";
import { killProgramOf, leaderIdentity, leadingReplica, programsOf, replicasOf } from "../e2e/support/replicas.ts";
import { openSandboxes, sandboxNamed } from "../e2e/support/sandboxes.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { openVisitor, talkingContainer, type Visit } from "./support/talker.ts";

/** For how long after an activator was killed connections to names may be refused: a kubelet, a controller and kube-proxy. */
const namesAnswerAgainMs = 10_000;

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const inRelease = (...args: readonly string[]) => cluster.kubectl.run([`--namespace=${release.namespace}`, ...args]);
const settled = (deployment: string) => inRelease("rollout", "status", `deployment/${deployment}`, "--timeout=90s");
const idleAfter = (inactivityTimeoutSeconds: number) => ({ autoSuspension: { inactivityTimeoutSeconds } });

/** A sandbox that is awake and has a Service, and a Pod that visits it. */
async function openTalk() {
  const test = await openSandboxes(cluster);
  const spec = { service: true, autoResume: {} };
  await test.apply(sandboxNamed("talker", { spec, container: talkingContainer }));
  const visitor = await openVisitor(test);
  await eventually(async () => (await visitor.visit("talker"))[0]?.whole);
  return { ...test, visitor };
}

/** When the last visit began that was not whole; 0 if all were. */
const lastFailureMs = (visits: readonly Visit[]): number =>
  Math.max(0, ...visits.filter(({ whole }) => !whole).map(({ atMs }) => atMs));

it("keeps a sandbox awake while an activator hangs that may carry something to it, and lets it sleep when it answers again", async () => {
  await using test = await openSandboxes(cluster);
  await test.apply(sandboxNamed("quiet", { spec: idleAfter(8) }));
  const [hanging, other] = await replicasOf(cluster, "sandbox-router");
  if (!hanging || !other) throw new Error("there are no two activators");
  const activator = await findDirectly(cluster, other);
  const { boot } = await activator.askProgram(test.at("quiet"));
  const pids = programsOf(hanging);
  try {
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    const told = async () =>
      (await cluster.client.list(eventType, { namespace: release.namespace })).items.some(
        ({ reason, regarding }) => reason === "ActivatorUnreachable" && regarding?.uid === hanging.metadata.uid,
      );
    await eventually(told);
    await delay(16_000); // twice as long as it may be idle
    expect((await test.sandbox("quiet")).spec.operatingMode).toBe("Running");
    expect((await test.podOf("quiet"))?.metadata.deletionTimestamp).toBeUndefined();
  } finally {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  }
  await settled("sandbox-router");
  await test.untilAsleep("quiet");
  expect((await activator.askProgram(test.at("quiet"))).boot).not.toBe(boot);
}, 120_000);

it("finishes a suspension whose controller was killed while it waited for a request, which is answered", async () => {
  await using test = await openSandboxes(cluster);
  const autoSuspension = { drainTimeoutSeconds: 90 };
  await test.apply(sandboxNamed("draining", { spec: { autoSuspension } }));
  const activator = await findDirectly(cluster, await anActivator(cluster));
  const { boot } = await activator.askProgram(test.at("draining"));
  const identity = await leaderIdentity(cluster);
  const long = activator.askProgram(test.at("draining"), { method: "POST", path: "/?after=25000" });
  await test.pause("draining");
  const sealed = async () => Object.keys((await test.sandbox("draining")).metadata.annotations ?? {});
  await eventually(async () => (await sealed()).some((key) => key.includes("seal")));
  killProgramOf(await leadingReplica(cluster));
  expect(await long).toMatchObject({ boot, asked: 2 });
  await test.untilAsleep("draining");
  expect(await leaderIdentity(cluster)).not.toBe(identity);
  expect(await sealed()).not.toContainEqual(expect.stringContaining("seal"));
  await settled("agent-sandbox-controller");
}, 120_000);

it("answers by names throughout a rolling restart of the activators, and cuts no connection that is carried", async () => {
  await using test = await openTalk();
  const talks = test.visitor.visit("talker", { talkMs: 20_000, everyMs: 100, lastMs: 1_000 });
  const visits = test.visitor.visit("talker", { everyMs: 100, lastMs: 25_000 });
  await delay(2_000); // all the talks have begun
  await inRelease("rollout", "restart", "deployment/sandbox-router");
  await settled("sandbox-router");
  expect((await talks).filter(({ whole }) => !whole)).toEqual([]);
  expect((await visits).filter(({ whole }) => !whole)).toEqual([]);
}, 120_000);

it.each([
  ["its process is killed", async (pod: Stored<Pod>) => killProgramOf(pod)],
  [
    "its Pod is deleted without grace",
    async ({ metadata }: Stored<Pod>) =>
      void (await inRelease("delete", "pod", metadata.name, "--grace-period=0", "--force", "--wait=false")),
  ],
])(
  "carries on by the other activator when one is lost because %s, and all names answer soon after",
  async (_, lose) => {
    await using test = await openTalk();
    const lastMs = namesAnswerAgainMs + 5_000;
    const talks = test.visitor.visit("talker", { talkMs: 12_000, everyMs: 50, lastMs: 1_000 });
    const startMs = systemClock.ticksMs();
    const visits = test.visitor.visit("talker", { everyMs: 100, lastMs });
    await delay(2_000); // all the talks have begun
    const lostMs = systemClock.ticksMs() - startMs;
    await lose(await anActivator(cluster));
    const whole = (await talks).filter(({ whole }) => whole);
    expect(whole.length).toBeGreaterThan(0);
    expect(new Set(whole.map(({ boot }) => boot)).size).toBe(1);
    expect(lastFailureMs(await visits)).toBeLessThan(lostMs + namesAnswerAgainMs);
    await settled("sandbox-router");
  },
  120_000,
);
