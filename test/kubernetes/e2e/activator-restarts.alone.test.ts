import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventType } from "../../../api/kinds/core.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { untilLedToAll } from "../asleep/support/service-rules.ts";
import { openVisitor, talkingContainer, type Visit } from "../asleep/support/talker.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { happensOnce } from "../support/happens-once.ts";
import { anActivator, findDirectly } from "./support/direct-activator.ts";
import { findActivator, type InstalledActivator } from "./support/installed-activator.ts";
import { heldRequests, killProgramOf, programsOf, replicasOf, signalAll } from "./support/replicas.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";
import { startTraffic, wordsOf } from "./support/traffic.ts";

/** How long connections to Services may be refused after an activator was killed: kubelet, controller and kube-proxy must react. */
const namesAnswerAgainMs = 10_000;

let cluster: ClusterUnderTest;
let activator: InstalledActivator;
beforeAll(async () => {
  cluster = await connectToCluster();
  activator = await findActivator(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const inRelease = (...args: readonly string[]) => cluster.kubectl.run([`--namespace=${release.namespace}`, ...args]);
const settled = () => inRelease("rollout", "status", "deployment/sandbox-router", "--timeout=180s");
const listensAfter = (ms: number) => ({ container: { env: [{ name: "LISTEN_AFTER_MS", value: String(ms) }] } });
const times = <T>(count: number, make: () => T) => Array.from({ length: count }, make);

/** A running sandbox whose Service leads to every activator, and a Pod that visits it. */
async function openTalk() {
  const test = await openSandboxes(cluster);
  const spec = { service: true, autoResume: {} };
  await test.apply(sandboxNamed("talker", { spec, container: talkingContainer }));
  const visitor = await openVisitor(test);
  await eventually(async () => (await visitor.visit("talker"))[0]?.whole);
  await untilLedToAll(cluster, `${test.namespace}/talker`);
  return { ...test, visitor };
}

/** The start of the last incomplete visit; 0 if all were complete. */
const lastFailureMs = (visits: readonly Visit[]): number =>
  Math.max(0, ...visits.filter(({ whole }) => !whole).map(({ atMs }) => atMs));

/**
 * Visits by name from two seconds before an activator is lost, until all must be answered again. `lose` resolves with the
 * time of the loss, in the clock's ticks.
 */
async function expectNamesAnswerAgain({ visitor }: Awaited<ReturnType<typeof openTalk>>, lose: () => Promise<number>) {
  const lastMs = namesAnswerAgainMs + 5_000;
  const talks = visitor.visit("talker", { talkMs: 12_000, everyMs: 50, lastMs: 1_000 });
  const startMs = systemClock.ticksMs();
  const visits = visitor.visit("talker", { everyMs: 100, lastMs });
  await delay(2_000); // all conversations have started
  const lostMs = (await lose()) - startMs;
  const whole = (await talks).filter(({ whole }) => whole);
  expect(whole.length).toBeGreaterThan(0);
  expect(new Set(whole.map(({ boot }) => boot)).size).toBe(1);
  expect(lastFailureMs(await visits)).toBeLessThan(lostMs + namesAnswerAgainMs);
  await settled();
}

describe("a rolling restart of the activator", () => {
  const prepared = happensOnce(2, async () => {});
  const restarted = happensOnce(2, async () => {
    await inRelease("rollout", "restart", "deployment/sandbox-router");
    await settled();
  });

  it.concurrent("fails none of 200 held and 50 proxied requests, and none that arrives meanwhile", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(sandboxNamed("carrying"), sandboxNamed("held", listensAfter(25_000)));
    await test.untilAsleep("carrying", "held");
    await activator.askProgram(test.at("carrying"));
    const carried = times(50, () => activator.askProgram(test.at("carrying"), { path: "/?after=25000" }));
    const held = times(200, () => activator.askProgram(test.at("held"), { method: "POST" }));
    const outcome = Promise.allSettled([...carried, ...held]);
    await eventually(async () => (await heldRequests(cluster)) === 200);
    await eventually(async () => (await activator.askProgram(test.at("carrying"))).asked > 50);
    await using traffic = startTraffic(() => activator.askProgram(test.at("carrying"), { method: "POST" }));

    await prepared();
    await restarted();

    const failed = (await outcome).filter(({ status }) => status === "rejected");
    await traffic.stop();
    expect(failed).toEqual([]);
    expect(traffic.failures).toEqual([]);
    expect(traffic.answered).toBeGreaterThan(100);
    const answers = await Promise.all(held);
    expect(answers.map(({ asked }) => asked).sort((a, b) => a - b)).toEqual(answers.map((_, at) => at + 1));
  });

  it.concurrent("keeps Services reachable, and cuts no connection to one", async () => {
    await using test = await openTalk();
    await prepared();
    const talks = test.visitor.visit("talker", { talkMs: 20_000, everyMs: 100, lastMs: 1_000 });
    const visits = test.visitor.visit("talker", { everyMs: 100, lastMs: 25_000 });
    await delay(2_000); // all conversations have started
    await restarted();
    expect((await talks).filter(({ whole }) => !whole)).toEqual([]);
    expect((await visits).filter(({ whole }) => !whole)).toEqual([]);
  });
});

describe("an activator that is killed", () => {
  const prepared = happensOnce(2, async () => {});
  const killedOnce = happensOnce(2, async () => {
    killProgramOf(await anActivator(cluster));
    return systemClock.ticksMs();
  });

  it.concurrent("loses only the requests that it holds; every other request is answered or refused unread", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(sandboxNamed("warm"), sandboxNamed("held", listensAfter(15_000)));
    await test.untilAsleep("warm", "held");
    await activator.askProgram(test.at("warm"));
    const held = times(40, () => activator.askProgram(test.at("held"), { method: "POST" }));
    const outcome = Promise.allSettled(held);
    await eventually(async () => (await heldRequests(cluster)) === 40);
    await using traffic = startTraffic(() => activator.askProgram(test.at("warm"), { method: "POST" }));
    await prepared();
    await killedOnce();

    const lost = (await outcome).filter((each) => each.status === "rejected").map(({ reason }) => wordsOf(reason));
    expect(new Set(lost)).toEqual(new Set(["ECONNRESET"]));
    expect(lost.length).toBeLessThan(40);
    // When they are sent again, the sandbox is awake, because the wake was already written.
    expect(await activator.askProgram(test.at("held"), { method: "POST" })).toMatchObject({ asked: 41 - lost.length });
    await settled();
    await traffic.stop();
    expect(traffic.failures.filter((failure) => !["ECONNREFUSED", "ECONNRESET"].includes(failure))).toEqual([]);
    // At most the one request that was in flight.
    expect(traffic.failures.filter((failure) => failure === "ECONNRESET").length).toBeLessThanOrEqual(1);
  });

  it.concurrent("is replaced by the other one, and Services answer soon after", async () => {
    await using test = await openTalk();
    await prepared();
    await expectNamesAnswerAgain(test, killedOnce);
  });

  it("has the same effect as one whose Pod is deleted without grace", async () => {
    await using test = await openTalk();
    const args = ["--grace-period=0", "--force", "--wait=false"];
    await expectNamesAnswerAgain(test, async () => {
      await inRelease("delete", "pod", (await anActivator(cluster)).metadata.name, ...args);
      return systemClock.ticksMs();
    });
  });
});

it("keeps a sandbox awake while an activator that may proxy to it hangs, and suspends it afterwards", async () => {
  await using test = await openSandboxes(cluster);
  await test.apply(sandboxNamed("quiet", { spec: { autoSuspension: { inactivityTimeoutSeconds: 8 } } }));
  const [hanging, other] = await replicasOf(cluster, "sandbox-router");
  if (!hanging || !other) throw new Error("there are no two activators");
  const askable = await findDirectly(cluster, other);
  const { boot } = await askable.askProgram(test.at("quiet"));
  const pids = programsOf(hanging);
  try {
    signalAll(pids, "SIGSTOP");
    const told = async () =>
      (await cluster.client.list(eventType, { namespace: release.namespace })).items.some(
        ({ reason, regarding }) => reason === "ActivatorUnreachable" && regarding?.uid === hanging.metadata.uid,
      );
    await eventually(told);
    await delay(16_000); // twice the idle time
    expect((await test.sandbox("quiet")).spec.operatingMode).toBe("Running");
    expect((await test.podOf("quiet"))?.metadata.deletionTimestamp).toBeUndefined();
  } finally {
    signalAll(pids, "SIGCONT");
  }
  await settled();
  await test.untilAsleep("quiet");
  expect((await askable.askProgram(test.at("quiet"))).boot).not.toBe(boot);
});
