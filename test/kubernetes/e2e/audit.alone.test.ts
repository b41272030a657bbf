import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../lib/time/clock.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { grantedBy } from "../support/granted-rights.ts";
import { programs, requestsOf, wordsOfRequest } from "./support/audit-log.ts";
import { findActivator } from "./support/installed-activator.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";

const sandboxes = 200;
const restMs = 120_000;

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe("the API server's audit log of our programs' calls", () => {
  it("has all rights of the activator in use when it wakes one sandbox", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(sandboxNamed("once"));
    await test.untilAsleep("once");
    await (await findActivator(cluster)).askProgram(test.at("once"));
    const used = () => new Set(requestsOf("activator").map(wordsOfRequest));
    const granted = new Set(await grantedBy(cluster.kubectl, "clusterrole", "sandbox-router"));
    await eventually(() => granted.isSubsetOf(used()));
    expect(used()).toEqual(granted);
  });

  it.each(["activator", "controller"] as const)("has nothing that the %s was not permitted to ask for", (program) => {
    const requests = requestsOf(program);
    const denied = requests.filter((each) => each.annotations?.["authorization.k8s.io/decision"] === "forbid");
    expect(requests.length).toBeGreaterThan(0);
    expect(new Set(denied.map(wordsOfRequest))).toEqual(new Set());
  });

  it("has only watches and leases during two minutes with 200 idle sandboxes", async () => {
    await using test = await openSandboxes(cluster);
    const names = Array.from({ length: sandboxes }, (_, at) => `resting-${at}`);
    await test.apply(...names.map((name) => sandboxNamed(name)));
    await test.run("wait", "sandbox", "--all", "--for=condition=Suspended", "--timeout=120s");
    await delay(10_000); // earlier events are written, and objects that other tests have deleted are gone
    const from = systemClock.now().toISOString();
    await delay(restMs); // the tested idle time
    const seen = Object.keys(programs).flatMap((program) => requestsOf(program as keyof typeof programs));
    const atRest = seen.filter(({ requestReceivedTimestamp }) => requestReceivedTimestamp > from);
    const words = new Set(atRest.map(wordsOfRequest));
    const leases = ["get leases.coordination.k8s.io", "update leases.coordination.k8s.io"];
    expect([...words].filter((each) => !each.startsWith("watch ") && !leases.includes(each))).toEqual([]);
    // A watch is renewed every few minutes, and there are a dozen.
    expect(atRest.filter(({ verb }) => verb === "watch").length).toBeLessThan(100);
  }, 300_000);
});
