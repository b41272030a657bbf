import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../lib/time/clock.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { findActivator, type InstalledActivator } from "./support/installed-activator.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";

/** Less than the default hold limit of two minutes, so a request that fails earlier was rejected for a known reason. */
const untoldMs = 60_000;

let cluster: ClusterUnderTest;
let activator: InstalledActivator;
beforeAll(async () => {
  cluster = await connectToCluster();
  activator = await findActivator(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe("a sandbox that cannot run", () => {
  it("is waited for until its own limit if its image cannot be pulled, because registries recover", async () => {
    await using test = await openSandboxes(cluster);
    const spec = { autoResume: { timeoutSeconds: 5 } };
    await test.apply(sandboxNamed("nowhere", { spec, container: { image: "registry.invalid/nothing:1" } }));
    await test.untilAsleep("nowhere");
    const answer = await activator.ask(test.at("nowhere"));
    expect(answer).toMatchObject({ status: 503, reason: "WakeTimedOut" });
    expect(answer.tookMs).toBeGreaterThan(3_000);
    expect(answer.tookMs).toBeLessThan(15_000);
    expect(await test.condition("nowhere", "Ready")).toMatchObject({ status: "False", reason: "DependenciesNotReady" });
    await eventually(async () => (await test.eventReasons("Pod", "nowhere")).includes("Failed"));
  });

  it("is reported at once if the name of its image is invalid", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(sandboxNamed("misnamed", { container: { image: "Not An Image" } }));
    await test.untilAsleep("misnamed");
    const answer = await activator.ask(test.at("misnamed"));
    expect(answer).toMatchObject({ status: 502, reason: "ContainerFailed" });
    expect(answer.body).toContain("InvalidImageName");
    expect(answer.tookMs).toBeLessThan(untoldMs);
    await eventually(async () => (await test.eventReasons("Pod", "misnamed")).includes("InspectFailed"));
  });

  it("is reported if its container keeps crashing", async () => {
    await using test = await openSandboxes(cluster);
    const container = { command: ["node", "--eval", "process.exit(3)"] };
    await test.apply(sandboxNamed("crashing", { container }));
    await test.untilAsleep("crashing");
    const answer = await activator.ask(test.at("crashing"));
    expect(answer).toMatchObject({ status: 502, reason: "ContainerFailed" });
    expect(answer.body).toContain("CrashLoopBackOff (last exit code 3)");
    expect(answer.tookMs).toBeLessThan(untoldMs);
    // Not at once: a container without a readiness probe is ready as soon as it runs, at each restart.
    await eventually(async () => {
      const ready = await test.condition("crashing", "Ready");
      return ready?.status === "False" && ready.reason === "DependenciesNotReady";
    });
    await eventually(async () => (await test.eventReasons("Pod", "crashing")).includes("BackOff"));
  });

  it("is reported if a quota rejects its Pod, and runs once the quota permits it", async () => {
    await using test = await openSandboxes(cluster);
    await test.run("create", "quota", "none", "--hard=pods=0");
    // The API server's own view of quotas may be slightly stale.
    const isKnown = () => test.run("get", "quota", "none", "--output=jsonpath={.status.hard.pods}");
    await eventually(async () => (await isKnown()) === "0");
    await test.apply(sandboxNamed("poor"));
    await test.untilAsleep("poor");
    const answer = await activator.ask(test.at("poor"));
    expect(answer).toMatchObject({ status: 503, reason: "QuotaExceeded" });
    expect(answer.body).toContain("exceeded quota: none");
    expect(await test.condition("poor", "Ready")).toMatchObject({ status: "False", reason: "ReconcilerError" });
    await eventually(async () => (await test.eventReasons("Sandbox", "poor")).includes("SandboxPodCreateFailed"));

    await test.run("delete", "quota", "none");
    await test.run("wait", "sandbox/poor", "--for=condition=Ready", "--timeout=60s");
    expect(await activator.askProgram(test.at("poor"))).toMatchObject({ asked: 1 });
  });

  it("rejects its held requests at once when it is deleted", async () => {
    await using test = await openSandboxes(cluster);
    const container = { env: [{ name: "LISTEN_AFTER_MS", value: "60000" }] };
    await test.apply(sandboxNamed("leaving", { container, pod: { terminationGracePeriodSeconds: 1 } }));
    await test.untilAsleep("leaving");
    const waiting = activator.ask(test.at("leaving"));
    await test.run("wait", "sandbox/leaving", "--for=condition=Ready", "--timeout=60s");
    const startMs = systemClock.ticksMs();
    await test.run("delete", "sandbox", "leaving", "--wait=false");
    expect(await waiting).toMatchObject({ status: 410, reason: "SandboxDeleted" });
    expect(systemClock.ticksMs() - startMs).toBeLessThan(15_000); // and not after the minute until the program listens
    await test.run("wait", "sandbox/leaving", "--for=delete", "--timeout=60s");
    await eventually(async () => (await activator.ask(test.at("leaving"))).reason === "UnknownHost");
  });
});

it("lets a Pod deleted by hand finish its requests, and sends later requests to the next Pod", async () => {
  await using test = await openSandboxes(cluster);
  const carried = test.at("carrying");
  await test.apply(sandboxNamed("carrying"));
  await test.untilAsleep("carrying");
  const { boot } = await activator.askProgram(carried);
  const slow = activator.askProgram(carried, { path: "/?after=3000" });
  await eventually(async () => (await activator.askProgram(carried)).asked >= 3); // so the slow request has arrived
  await test.run("delete", "pod", "carrying", "--wait=false");
  // Until the activator sees the deletion, it may still send to the terminating Pod, whose program closes new connections.
  await eventually(async () => {
    const { status, reason, body } = await activator.ask(carried, { method: "POST" });
    if (status !== 200) expect(reason).toBe("ResponseLost");
    return status === 200 && JSON.parse(body).boot !== boot;
  });
  expect((await slow).boot).toBe(boot);
  await eventually(async () => (await test.eventReasons("Sandbox", "carrying")).includes("SandboxPodCreated"));
});

it("creates another Pod after an eviction, and answers from it", async () => {
  await using test = await openSandboxes(cluster);
  await test.apply(sandboxNamed("evicted"));
  await test.untilAsleep("evicted");
  const { boot } = await activator.askProgram(test.at("evicted"));
  const path = `/api/v1/namespaces/${test.namespace}/pods/evicted/eviction`;
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "evicted" } };
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(eviction) };
  expect((await cluster.fetch(`${cluster.url}${path}`, init)).status).toBe(201);
  // Until the activator sees the eviction, it may still send to the terminating Pod, which answers.
  await eventually(async () => (await activator.askProgram(test.at("evicted"))).boot !== boot, 60_000);
  await test.run("wait", "sandbox/evicted", "--for=condition=Ready", "--timeout=60s");
});
