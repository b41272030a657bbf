import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { run } from "../../../cluster/command.ts";
import { findDaemon } from "../../../cluster/daemon.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { insideOf } from "../../../cluster/start-component.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { clusterLayout } from "./support/components.ts";
import { findActivator, type InstalledActivator } from "./support/installed-activator.ts";
import { replicasOf } from "./support/replicas.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";
import { startTraffic } from "./support/traffic.ts";

const chart = join(import.meta.dirname, "..", "..", "..", "charts", "rouse");

let cluster: ClusterUnderTest;
let activator: InstalledActivator;
beforeAll(async () => {
  cluster = await connectToCluster();
  activator = await findActivator(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const helm = (...args: readonly string[]) =>
  run(inject("helm"), [...args, `--kubeconfig=${inject("kubeconfig")}`, `--namespace=${release.namespace}`]);
const upgrade = (...args: readonly string[]) =>
  helm("upgrade", release.name, chart, "--reuse-values", "--wait", "--timeout=180s", ...args);

interface Image {
  readonly repository: string;
  readonly tag: string;
}

/** The same image with another name, so that an upgrade changes the template of the Pods. */
async function tagAgain({ repository, tag }: Image): Promise<string> {
  const layout = clusterLayout();
  const keeper = findDaemon(layout, "mount-namespace");
  if (!keeper) throw new Error("the cluster does not run");
  const other = `${tag}-again`;
  const names = [`${repository}:${tag}`, `${repository}:${other}`];
  await insideOf(layout, keeper.pid).run("ctr", ["--namespace=k8s.io", "images", "tag", "--force", ...names]);
  return other;
}

async function imagesOf(app: "sandbox-router" | "agent-sandbox-controller"): Promise<readonly string[]> {
  const replicas = await replicasOf(cluster, app);
  return replicas.map(({ spec }) => spec?.containers?.[0]?.image ?? "");
}

it("upgrades both images without restarting a user's Pod, losing a request, or changing the token", async () => {
  await using test = await openSandboxes(cluster);
  await test.apply(sandboxNamed("running"), sandboxNamed("asleep"));
  await test.untilAsleep("running", "asleep");
  const { boot } = await activator.askProgram(test.at("running"));
  const before = await test.podOf("running");
  const installed = JSON.parse(await helm("get", "values", release.name, "--output=json"));
  const images: readonly Image[] = [installed.image, installed.activator.image];
  const tags = await Promise.all(images.map(tagAgain));
  await using traffic = startTraffic(() => activator.askProgram(test.at("running"), { method: "POST" }));
  try {
    await upgrade(`--set=image.tag=${tags[0]}`, `--set=activator.image.tag=${tags[1]}`);
    const running = [...(await imagesOf("agent-sandbox-controller")), ...(await imagesOf("sandbox-router"))];
    expect(new Set(running)).toEqual(new Set(images.map(({ repository }, at) => `${repository}:${tags[at]}`)));
  } finally {
    await upgrade(`--set=image.tag=${images[0]?.tag}`, `--set=activator.image.tag=${images[1]?.tag}`);
  }
  await traffic.stop();

  expect(traffic.failures).toEqual([]);
  const after = await test.podOf("running");
  expect(after?.metadata.uid).toBe(before?.metadata.uid);
  expect(after?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  expect((await activator.askProgram(test.at("running"))).boot).toBe(boot);
  expect((await test.sandbox("asleep")).spec.operatingMode).toBe("Suspended");
  expect((await findActivator(cluster)).token).toBe(activator.token);
  expect(await activator.askProgram(test.at("asleep"))).toMatchObject({ asked: 1 });
}, 480_000);
