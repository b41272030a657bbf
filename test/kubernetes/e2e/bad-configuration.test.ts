import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { openTestNamespace } from "../support/workload.ts";
import { startHere } from "./support/program-here.ts";

const directory = mkdtempSync(join(tmpdir(), "rouse-configuration-"));
const powerless = join(directory, "powerless");
const startMs = 60_000;

let cluster: ClusterUnderTest;
let test: Awaited<ReturnType<typeof openTestNamespace>>;
beforeAll(async () => {
  cluster = await connectToCluster();
  test = await openTestNamespace(cluster);
  const kubeconfig = JSON.parse(readFileSync(inject("kubeconfig"), "utf8"));
  await test.run("wait", "--for=create", "serviceaccount/default", "--timeout=60s");
  const token = (await test.run("create", "token", "default")).trim();
  writeFileSync(powerless, JSON.stringify({ ...kubeconfig, users: [{ ...kubeconfig.users[0], user: { token } }] }));
});
afterAll(async () => {
  await test[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const withoutRights = () => `--kubeconfig=${powerless}`;
const ownLease = () => `--leader-election-namespace=${test.namespace}`;

describe("a program that cannot start", () => {
  it.each(["controller", "activator"] as const)("ends with 2 and names the flag: %s", async (program) => {
    await using run = startHere(program, "--nonsense");
    expect(await run.ended).toBe(2);
    expect(run.complaints()[0]).toContain("unknown flag: --nonsense");
  });

  it("exits with 1 and one line if the webhook's certificate is missing", async () => {
    const files = ["--manage-webhook-certs=false", `--webhook-cert-dir=${directory}`];
    await using run = startHere("controller", `--kubeconfig=${inject("kubeconfig")}`, ownLease(), ...files);
    expect(await run.ended).toBe(1);
    expect(run.complaints()).toEqual([
      `agent-sandbox-controller: missing certificate files for the webhook: ${directory}/tls.crt, ${directory}/tls.key`,
    ]);
  });

  it("exits with 1 and one line if it may not read the webhook's certificates", async () => {
    await using run = startHere("controller", withoutRights(), ownLease());
    expect(await run.ended).toBe(1);
    expect(run.complaints()).toHaveLength(1);
    const reason =
      /^agent-sandbox-controller: cannot make the certificates of the webhook: secrets .* is forbidden: User .*:default"/;
    expect(run.complaints()[0]).toMatch(reason);
  });

  it("exits with 2 and one line if the activator has neither a token nor a flag for none", async () => {
    await using run = startHere("activator", withoutRights());
    expect(await run.ended).toBe(2);
    expect(run.complaints()).toHaveLength(1);
    expect(run.complaints()[0]).toContain("ROUTER_AUTH_TOKEN must be set");
  });
});

describe("a program without a right that it needs", () => {
  it("logs the missing right, retries, and exits cleanly on SIGTERM: the controller", async () => {
    await using run = startHere("controller", withoutRights(), ownLease(), "--enable-webhook=false");
    await eventually(() => (run.said().match(/sandboxes.agents.x-k8s.io is forbidden/g) ?? []).length > 1, startMs);
    run.child.kill("SIGTERM");
    expect(await run.ended).toBe(0);
  });

  it("logs the missing right, retries, and is not ready: the activator", async () => {
    await using run = startHere("activator", withoutRights(), "--authz-mode=allow-all", "--drain-settle=0s");
    await eventually(() => /sandboxes.agents.x-k8s.io is forbidden/.test(run.said()), startMs);
    const url = /"ops":"([^"]+)"/.exec(run.said())?.[1] ?? "";
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    run.child.kill("SIGTERM");
    expect(await run.ended).toBe(0);
  });
});
