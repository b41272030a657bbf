import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { run } from "../../../cluster/command.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { findActivator } from "./support/installed-activator.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";

const chart = join(import.meta.dirname, "..", "..", "..", "charts", "rouse");

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const upgradeTo = (mode: "none" | "token") => {
  const inRelease = [`--kubeconfig=${inject("kubeconfig")}`, `--namespace=${release.namespace}`];
  const flags = ["--reuse-values", `--set=auth.mode=${mode}`, "--wait", "--timeout=180s"];
  return run(inject("helm"), ["upgrade", release.name, chart, ...inRelease, ...flags]);
};

it("answers and wakes without a token with auth.mode none, and requires one again with token", async () => {
  await using test = await openSandboxes(cluster);
  await test.apply(sandboxNamed("open"));
  await test.untilAsleep("open");
  const { ask } = await findActivator(cluster);
  const anonymous = { headers: { authorization: "" } };
  expect((await ask(test.at("open"), anonymous)).status).toBe(401);
  try {
    await upgradeTo("none");
    // A replica with the former settings may still be shutting down.
    await eventually(async () => (await ask(test.at("open"), anonymous)).status === 200);
    expect((await test.sandbox("open")).spec.operatingMode).toBe("Running");
  } finally {
    await upgradeTo("token");
  }
  await eventually(async () => (await ask(test.at("open"), anonymous)).status === 401);
  const closed = await findActivator(cluster);
  expect(await closed.askProgram(test.at("open"))).toMatchObject({ pod: "open" });
}, 480_000);
