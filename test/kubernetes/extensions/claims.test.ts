import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeBaseImage } from "../../../cluster/images/node-base.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { findActivator } from "../e2e/support/installed-activator.ts";
import { program } from "../e2e/support/program.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { claimNamed, openPools, poolNamed, templateNamed } from "./support/pools.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const inMs = (ms: number) => new Date(systemClock.now().getTime() + ms).toISOString().replace(/\.\d+Z/, "Z");

describe("a claim on a real cluster", () => {
  it("gets a running warm sandbox, and the pool is refilled", async () => {
    await using test = await openPools(cluster);
    await test.apply(templateNamed("t"), poolNamed("p", 2, "t"));
    await test.untilFull("p", 2);
    const warm = await test.membersOf("p");
    await test.apply(claimNamed("mine", "p"));
    await test.untilBound("mine");
    const { status, metadata } = await test.claim("mine");
    const bound = warm.find((member) => member.metadata.name === status?.sandbox?.name);
    expect(bound).toBeDefined();
    expect(status?.sandbox?.podIPs).toEqual(bound?.status?.podIPs);
    expect(status?.conditions?.map(({ type }) => type)).toEqual(["Ready"]);
    const sandbox = await test.sandbox(bound?.metadata.name ?? "");
    expect(sandbox.metadata.ownerReferences).toMatchObject([{ kind: "SandboxClaim", uid: metadata.uid }]);
    expect(sandbox.metadata.uid).toBe(bound?.metadata.uid);
    await test.untilFull("p", 2);
    // The Pod is the same one, and no longer has the label of an unclaimed member.
    const pod = await test.podOf(sandbox.metadata.name);
    expect(pod?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    expect(pod?.status?.podIP).toBe(bound?.status?.podIPs?.[0]);
    await eventually(async () => {
      const labels = (await test.podOf(sandbox.metadata.name))?.metadata.labels ?? {};
      return labels["agents.x-k8s.io/warm-pool-sandbox"] === undefined;
    });
    await eventually(async () => (await test.eventReasons("SandboxClaim", "mine")).includes("SandboxAdopted"));
    await test.run("delete", "sandboxclaim", "mine");
    await eventually(async () => !(await test.exists("sandbox", sandbox.metadata.name)));
  });

  it("gets a new sandbox with its own name if there is no warm one, or if it asks for other settings", async () => {
    await using test = await openPools(cluster);
    await test.apply(
      templateNamed("t", { envVarsInjectionPolicy: "Allowed" }),
      poolNamed("empty", 0, "t"),
      poolNamed("p", 1, "t"),
    );
    await test.untilFull("p", 1);
    const env = [{ name: "GREETING", value: "hi" }];
    await test.apply(claimNamed("cold", "empty"), claimNamed("own", "p", { env }));
    await test.untilBound("cold", "own");
    for (const name of ["cold", "own"]) expect((await test.claim(name)).status?.sandbox?.name).toBe(name);
    expect(await test.run("exec", "own", "--", "sh", "-c", "echo $GREETING")).toBe("hi\n");
    expect(await test.membersOf("p")).toHaveLength(1);
    await eventually(async () => (await test.eventReasons("SandboxClaim", "cold")).includes("SandboxProvisioned"));
  });

  it("reports what it lacks, and is bound as soon as that exists", async () => {
    await using test = await openPools(cluster);
    const reason = async (name: string) => (await test.claimCondition(name, "Ready"))?.reason;
    await test.apply(
      claimNamed("early", "p"),
      claimNamed("pushy", "p", { env: [{ name: "A", value: "b" }] }),
      claimNamed("odd", "p", { additionalPodMetadata: { labels: { mine: "yes" } } }),
    );
    await eventually(async () => (await reason("early")) === "WarmPoolNotFound");
    await eventually(async () => (await reason("odd")) === "InvalidMetadata");
    await test.apply(poolNamed("p", 0, "t"));
    await eventually(async () => (await reason("early")) === "TemplateNotFound");
    await test.apply(templateNamed("t"));
    await test.untilBound("early");
    await eventually(async () => (await reason("pushy")) === "EnvVarsInjectionRejected");
    expect(await reason("odd")).toBe("InvalidMetadata");
    expect((await test.sandboxes()).map(({ metadata }) => metadata.name)).toEqual(["early"]);
  });

  it("expires at its time, and its policy decides what is deleted with it", async () => {
    await using test = await openPools(cluster);
    await test.apply(templateNamed("t"), poolNamed("p", 1, "t"));
    await test.untilFull("p", 1);
    const policies = ["Retain", "Delete", "DeleteForeground"];
    const claims = (lifecycle: object) =>
      policies.map((policy) =>
        claimNamed(policy.toLowerCase(), "p", { lifecycle: { ...lifecycle, shutdownPolicy: policy } }),
      );
    await test.apply(...claims({}));
    await test.untilBound("retain", "delete", "deleteforeground");
    await test.apply(...claims({ shutdownTime: inMs(3_000) }));
    const bound = (await test.claim("retain")).status?.sandbox?.name ?? "";
    for (const claim of ["delete", "deleteforeground"]) {
      await eventually(async () => !(await test.exists("sandboxclaim", claim)));
    }
    await eventually(async () => (await test.claimCondition("retain", "Ready"))?.reason === "ClaimExpired");
    await eventually(async () => !(await test.exists("sandbox", bound)));
    expect(await test.exists("sandboxclaim", "retain")).toBe(true);
    await test.untilFull("p", 1);
    await eventually(async () => (await test.sandboxes()).length === 1);
  });

  it("gets one of 20 sandboxes when 20 are created at once, warm ones first", async () => {
    await using test = await openPools(cluster);
    const pool = poolNamed("p", 6, "t");
    await test.apply(templateNamed("t"), pool);
    await test.untilFull("p", 6);
    const warm = new Set((await test.membersOf("p")).map(({ metadata }) => metadata.name));
    const names = Array.from({ length: 20 }, (_, at) => `claim-${at}`);
    await Promise.all(names.map((name) => test.create(claimNamed(name, "p"))));
    await test.untilBound(...names);
    const claims = await Promise.all(names.map((name) => test.claim(name)));
    const given = claims.map(({ status }) => status?.sandbox?.name ?? "");
    expect(new Set(given).size).toBe(20);
    expect(warm.isSubsetOf(new Set(given))).toBe(true);
    await test.untilFull("p", 6);
    expect(await test.sandboxes()).toHaveLength(26);
  }, 120_000);

  it("is reached by its own name, and wakes its sandbox", async () => {
    await using test = await openPools(cluster);
    const activator = await findActivator(cluster);
    const container = { image: nodeBaseImage, command: ["node", "--eval", program] };
    const probe = { readinessProbe: { tcpSocket: { port: 8888 }, periodSeconds: 1 } };
    await test.apply(templateNamed("t", {}, { ...container, ...probe }), poolNamed("p", 1, "t"));
    await test.untilFull("p", 1);
    await test.apply(claimNamed("mine", "p"));
    await test.untilBound("mine");
    const sandbox = (await test.claim("mine")).status?.sandbox?.name ?? "";
    const { boot } = await activator.askProgram(test.at("mine"));
    expect((await activator.askProgram(test.at(sandbox))).boot).toBe(boot);
    await test.pause(sandbox);
    await test.untilAsleep(sandbox);
    const woken = await activator.askProgram(test.at("mine"), { method: "POST" });
    expect(woken).toMatchObject({ pod: sandbox, asked: 1 });
    expect(woken.boot).not.toBe(boot);
  });
});
