import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serviceType } from "../../../api/kinds/core.ts";
import { openSandboxes, sandboxNamed } from "../e2e/support/sandboxes.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { untilLedToAll } from "./support/service-rules.ts";
import { openVisitor, talkingContainer, visitOnce } from "./support/talker.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** A suspended sandbox `talker` with a Service, and a Pod in its namespace that visits it. */
async function openTalker(spec: object) {
  const test = await openSandboxes(cluster);
  await test.apply(sandboxNamed("talker", { spec: { service: true, ...spec }, container: talkingContainer }));
  const visitor = await openVisitor(test);
  await test.untilAsleep("talker");
  await untilLedToAll(cluster, `${test.namespace}/talker`);
  return { ...test, visitor };
}

const soonAsleep = { autoSuspension: { inactivityTimeoutSeconds: 5 } };

describe.concurrent("the Service name of a sandbox in the cluster", () => {
  it("holds connections while it is suspended, wakes it, and relays; either side may send first", async () => {
    await using test = await openTalker(soonAsleep);
    const names = [
      `talker.${test.namespace}.svc.cluster.local`,
      "talker",
      (await cluster.client.get(serviceType, test.at("talker"))).spec?.clusterIP ?? "",
    ];
    const boots = new Set<string>();
    for (const name of names) {
      boots.add((await visitOnce(test.visitor, name, { talkMs: 500 })).boot);
      // Suspended for inactivity, a few seconds after the last byte.
      await test.untilAsleep("talker");
    }
    expect(boots.size).toBe(names.length);
  });

  it("keeps it awake during a connection with traffic", async () => {
    await using test = await openTalker(soonAsleep);
    const { tookMs } = await visitOnce(test.visitor, "talker", { talkMs: 15_000 });
    expect(tookMs).toBeGreaterThan(15_000);
    await test.untilAsleep("talker");
  });

  it("lets it be suspended under an idle connection, which is closed cleanly", async () => {
    await using test = await openTalker(soonAsleep);
    const [visit] = await test.visitor.visit("talker", { silent: true });
    expect(visit).toMatchObject({ boot: expect.stringMatching(/./), failure: "" });
    expect(visit?.tookMs).toBeGreaterThan(5_000);
    await test.untilAsleep("talker");
  });

  it("rejects Pods of other namespaces, which wake nothing, until allowFrom is Cluster", async () => {
    await using test = await openTalker({ autoResume: {} });
    await using elsewhere = await openSandboxes(cluster);
    const stranger = await openVisitor(elsewhere);
    const name = `talker.${test.namespace}`;
    const [refused] = await stranger.visit(name);
    expect(refused).toMatchObject({ failure: "ECONNRESET", whole: false, boot: "" });
    expect((await test.sandbox("talker")).spec.operatingMode).toBe("Suspended");
    await visitOnce(test.visitor, name);

    const open = JSON.stringify({ spec: { autoResume: { allowFrom: "Cluster" } } });
    await test.run("patch", "sandbox", "talker", "--type=merge", `--patch=${open}`);
    await test.pause("talker");
    await test.untilAsleep("talker");
    await eventually(async () => (await stranger.visit(name))[0]?.whole);
  });
});
