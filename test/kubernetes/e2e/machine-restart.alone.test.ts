import { afterAll, beforeAll, expect, it } from "vitest";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { restartMachine } from "./support/components.ts";
import { findActivator } from "./support/installed-activator.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

it("wakes a sandbox by the first request after the machine has started again", async () => {
  await using test = await openSandboxes(cluster);
  await test.apply(sandboxNamed("asleep"));
  await test.untilAsleep("asleep");
  await restartMachine();
  // All former addresses of the activators are gone. A Service that leads to one of them fails this request.
  const activator = await findActivator(cluster);
  expect(await activator.askProgram(test.at("asleep"))).toMatchObject({ asked: 1 });
}, 240_000);
