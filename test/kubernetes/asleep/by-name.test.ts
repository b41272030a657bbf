import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serviceType } from "../../../api/core.ts";
import { openSandboxes, sandboxNamed } from "../e2e/support/sandboxes.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { openVisitor, talkingContainer, visitOnce } from "./support/talker.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const talking = (name: string, spec: object = {}) =>
  sandboxNamed(name, { spec: { service: true, ...spec }, container: talkingContainer });

describe.concurrent("the name of a sandbox in the cluster", () => {
  it("holds who connects while it sleeps, wakes it, and carries both directions to their own ends, whoever speaks first", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(talking("talker", { autoSuspension: { inactivityTimeoutSeconds: 5 } }));
    const visitor = await openVisitor(test);
    await test.untilAsleep("talker");
    const names = [
      `talker.${test.namespace}.svc.cluster.local`,
      "talker",
      (await cluster.client.get(serviceType, test.at("talker"))).spec?.clusterIP ?? "",
    ];
    const boots = new Set<string>();
    for (const name of names) {
      boots.add((await visitOnce(visitor, name, { talkMs: 500 })).boot);
      // Asleep by itself, a few seconds after the last byte.
      await test.untilAsleep("talker");
    }
    expect(boots.size).toBe(names.length);
  });

  it("is not put to sleep under a connection on which something is said", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(talking("talker", { autoSuspension: { inactivityTimeoutSeconds: 5 } }));
    const visitor = await openVisitor(test);
    const { tookMs } = await visitOnce(visitor, "talker", { talkMs: 15_000 });
    expect(tookMs).toBeGreaterThan(15_000);
    await test.untilAsleep("talker");
  });

  it("is put to sleep under a connection on which nothing is said, which ends in good order", async () => {
    await using test = await openSandboxes(cluster);
    await test.apply(talking("talker", { autoSuspension: { inactivityTimeoutSeconds: 5 } }));
    const visitor = await openVisitor(test);
    const [visit] = await visitor.visit("talker", { silent: true });
    expect(visit).toMatchObject({ boot: expect.stringMatching(/./), failure: "" });
    expect(visit?.tookMs).toBeGreaterThan(5_000);
    await test.untilAsleep("talker");
  });

  it("is refused to Pods of other namespaces, which wake nothing, until the sandbox lets the cluster in", async () => {
    await using test = await openSandboxes(cluster);
    await using elsewhere = await openSandboxes(cluster);
    await test.apply(talking("talker", { autoResume: {} }));
    const [friend, stranger] = await Promise.all([openVisitor(test), openVisitor(elsewhere)]);
    await test.untilAsleep("talker");
    const name = `talker.${test.namespace}`;
    const [refused] = await stranger.visit(name);
    expect(refused).toMatchObject({ failure: "ECONNRESET", whole: false, boot: "" });
    expect((await test.sandbox("talker")).spec.operatingMode).toBe("Suspended");
    await visitOnce(friend, name);

    const open = JSON.stringify({ spec: { autoResume: { allowFrom: "Cluster" } } });
    await test.run("patch", "sandbox", "talker", "--type=merge", `--patch=${open}`);
    await test.pause("talker");
    await test.untilAsleep("talker");
    await eventually(async () => (await stranger.visit(name))[0]?.whole);
  });
});
