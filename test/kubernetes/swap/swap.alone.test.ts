import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { run } from "../../../cluster/command.ts";
import { productImages } from "../../../cluster/images/product.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { findActivator } from "../e2e/support/installed-activator.ts";
import { leadingReplica } from "../e2e/support/replicas.ts";
import { startTraffic } from "../e2e/support/traffic.ts";
import { runMigrate } from "../extensions/support/migrate.ts";
import { claimNamed } from "../extensions/support/pools.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { emptyCluster, forgetVersions, installAsBefore } from "./support/empty-cluster.ts";
import { type ExistingController, provideExistingController } from "./support/existing-controller.ts";
import { older, type UsedBefore, useBefore } from "./support/used-before.ts";

const { namespace } = release;
const repository = join(import.meta.dirname, "..", "..", "..");
const chart = join(repository, "charts", "rouse");

/** Each hook removes a controller and installs another one, which takes as long as a test. */
const hookMs = 480_000;

let cluster: ClusterUnderTest;
let existing: ExistingController;
beforeAll(async () => {
  cluster = await connectToCluster();
  existing = await provideExistingController();
}, hookMs);
afterAll(async () => {
  await emptyCluster(cluster).finally(installAsBefore);
  await existing[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
}, hookMs);

const kubectl = (...args: readonly string[]) => cluster.kubectl.run(args);
const rolledOut = (name: string) =>
  kubectl("rollout", "status", `deployment/${name}`, `-n=${namespace}`, "--timeout=120s");
const helm = (...args: readonly string[]) => run(inject("helm"), [...args, `--kubeconfig=${inject("kubeconfig")}`]);

const images = () => {
  const split = (image: string) => {
    const [repository = "", tag = ""] = image.split(":");
    return { repository, tag };
  };
  const { controller, activator } = productImages();
  return { controller: split(controller), activator: split(activator) };
};

/** Our plain manifests with the images of this checkout, as in the README. */
async function applyOurs(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "rouse-swap-"));
  try {
    const named = Object.entries(images()).map(([name, { repository, tag }]) => ({
      name: `rouse.dev/${name}`,
      newName: repository,
      newTag: tag,
    }));
    const kustomization = { resources: [relative(folder, join(repository, "k8s"))], images: named };
    writeFileSync(join(folder, "kustomization.yaml"), JSON.stringify(kustomization));
    const token = ["generic", "sandbox-router-token", "--from-literal=token=t0ken"];
    await kubectl("create", "secret", ...token, `-n=${namespace}`);
    await kubectl("apply", "-k", folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const ourImages = () => {
  const { controller, activator } = images();
  return [
    `--set=image.repository=${controller.repository},image.tag=${controller.tag}`,
    `--set=activator.image.repository=${activator.repository},activator.image.tag=${activator.tag}`,
  ];
};

/** Installed from another source, with the namespace in the release. Helm deletes objects that our chart does not have. */
const inRelease = "--namespace=default";
const upgrade = (...args: readonly string[]) =>
  helm("upgrade", "agent-sandbox", chart, inRelease, "--take-ownership", "--timeout=180s", ...args);

/** Waits until one of our controllers leads and has reconciled everything. */
async function untilTakenOver(test: UsedBefore): Promise<void> {
  for (const name of ["agent-sandbox-controller", "sandbox-router"]) await rolledOut(name);
  await eventually(async () => {
    const sandboxes = await test.sandboxes();
    const seen = sandboxes.every(({ status }) => status?.conditions?.some(({ type }) => type === "Suspended"));
    const { status, metadata } = await test.pool("p");
    return seen && status?.observedGeneration === metadata.generation;
    // Its predecessor may take half a minute to exit, and its Lease a quarter of a minute more to expire.
  }, 120_000);
}

/** The actions of users on existing objects after the change of the controller. */
async function useAfter(test: UsedBefore): Promise<void> {
  const spares = (await test.membersOf("p")).map(({ metadata }) => metadata.name);
  const activator = await findActivator(cluster);
  const { boot } = await activator.askProgram(test.at("running"));
  await test.run("scale", `${older.Sandbox}/running`, "--replicas=0");
  await test.untilAsleep("running");
  expect((await activator.askProgram(test.at("running"))).boot).not.toBe(boot);
  const read = ["node", "--eval", 'process.stdout.write(fs.readFileSync("/data/file", "utf8"))'];
  expect(await test.run("exec", "running", "--", ...read)).toBe("kept");
  await test.run("patch", "sandbox", "asleep", "--type=merge", '--patch={"spec":{"operatingMode":"Running"}}');
  await test.run("wait", "sandbox/asleep", "--for=condition=Ready", "--timeout=60s");

  await test.apply(claimNamed("new", "p"));
  await test.untilBound("new");
  expect(spares).toContain((await test.claim("new")).status?.sandbox?.name);
  const served = await Promise.all(test.claims.map(async (name) => (await test.claim(name)).status?.sandbox?.name));
  await test.run("delete", "sandboxclaim", ...test.claims);
  await test.untilFull("p", 2);
  await eventually(async () => {
    const left = (await test.sandboxes()).map(({ metadata }) => metadata.name);
    return served.every((name) => name !== undefined && !left.includes(name));
  });
}

const definitions = Object.values(older).map((name) => name.replace(".v1alpha1", ""));

async function migrate(test: UsedBefore): Promise<void> {
  const made = await test.made();
  expect(await runMigrate("--phase=migrate")).toContain("all objects are stored in v1beta1");
  for (const name of definitions) {
    const patch = '--patch={"status":{"storedVersions":["v1beta1"]}}';
    await kubectl("patch", "crd", name, "--subresource=status", "--type=merge", patch);
  }
  expect(await test.made()).toEqual(made);
}

/** Expects that all existing objects are unchanged. */
async function swapUnderUse(test: UsedBefore, takeOver: () => Promise<unknown>): Promise<void> {
  expect(await runMigrate("--phase=bootstrap")).toContain("2 created, problems: 0");
  const [made, asked, served] = [await test.made(), await test.asked(), await test.served()];
  await test.makeLegacyPolicy("cold");
  const address = (await test.podOf("running"))?.status?.podIP;
  await using traffic = startTraffic(async () => (await fetch(`http://${address}:8888/`)).json());
  await takeOver();
  forgetVersions();
  await untilTakenOver(test);
  await traffic.stop();

  expect(traffic.failures).toEqual([]);
  expect((await leadingReplica(cluster)).spec?.containers?.[0]?.image).toBe(productImages().controller);
  await eventually(async () => !(await test.exists("networkpolicy", "cold-network-policy")));
  expect(await test.made()).toEqual(made);
  expect(await test.asked()).toEqual(asked);
  expect(await test.served()).toEqual(served);
  const pools = await Promise.all(test.claims.map(async (name) => (await test.claim(name)).spec.warmPoolRef.name));
  expect(pools).toEqual(["p", "p", "shadow-pool-t", "shadow-pool-without-pool"]);
  for (const name of test.claims) {
    const { status } = await test.claim(name);
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
  }
  expect((await test.pool("p")).status).toMatchObject({ replicas: 2, readyReplicas: 2 });
  expect((await test.sandbox("asleep")).spec.operatingMode).toBe("Suspended");
  expect((await test.condition("asleep", "Suspended"))?.status).toBe("True");
}

describe("an installation of the existing controller, v0.4.6", () => {
  beforeEach(() => emptyCluster(cluster), hookMs);

  it("is replaced with kubectl while users use it", async () => {
    for (const manifest of existing.manifests) await kubectl("apply", "-f", manifest);
    await rolledOut("agent-sandbox-controller");
    await using test = await useBefore(cluster);
    await swapUnderUse(test, applyOurs);
    await migrate(test);
    await useAfter(test);
  }, 300_000);

  it("is replaced with Helm, which rejects an incomplete change and deletes no namespace", async () => {
    const set = `--set=image.tag=${existing.version},controller.extensions=true`;
    await helm("install", "agent-sandbox", existing.chart, inRelease, set, "--wait");
    await expect(upgrade("--dry-run=server", "--reuse-values", ...ourImages())).rejects.toThrow("another chart");
    await expect(upgrade("--dry-run=server", "--reset-then-reuse-values")).rejects.toThrow("that is to be replaced");
    const moved = upgrade("--dry-run=server", "--set=namespace.name=elsewhere", ...ourImages());
    await expect(moved).rejects.toThrow(`is in namespace ${namespace} and cannot be moved`);
    const beside = helm("install", release.name, chart, `--namespace=${namespace}`, "--dry-run=server");
    await expect(beside).rejects.toThrow("is of release agent-sandbox: upgrade that");
    await using test = await useBefore(cluster);
    const replaced = () => upgrade("--reset-then-reuse-values", "--set=replicaCount=1", ...ourImages(), "--wait");
    await swapUnderUse(test, replaced);
    const activator = await findActivator(cluster);
    expect(await activator.askProgram(test.at("running"))).toHaveProperty("boot");
    expect(await helm("list", inRelease, "--short")).toBe("agent-sandbox\n");
  }, 300_000);
});

it.each(["chart", "laterChart"] as const)(
  "takes the values of the existing %s once they name our images",
  async (which) => {
    const values = await helm("show", "values", existing[which]);
    const render = (...set: readonly string[]) =>
      run(inject("helm"), ["template", release.name, chart, "--values=-", ...set], values);
    await expect(render()).rejects.toThrow("the controller that is to be replaced");
    expect(await render(...ourImages())).toContain("--extensions=false");
  },
);
