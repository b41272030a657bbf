import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Registry } from "prom-client";
import { describe, expect, it, vi } from "vitest";
import { leaseType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { parseControllerConfig } from "../../controller/config/config.ts";
import { startController } from "../../controller/start.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../support/builders/builders.ts";
import { interceptCalls } from "../support/fakes/intercepted-client.ts";
import { openExtensionsLab } from "../support/labs/extensions-lab.ts";
import { openSandboxLab } from "../support/labs/sandbox-lab.ts";
import { openMemoryApi } from "../support/memory-api.ts";
import { bareEnvironment } from "../support/program.ts";
import { waiting } from "../support/waiting.ts";

const pages = [
  "--enable-webhook=false",
  "--metrics-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=127.0.0.1:0",
];
const lease = { namespace: "agent-sandbox-system", name: "a3317529.agent-sandbox.x-k8s.io" };

function start(client: Awaited<ReturnType<typeof openMemoryApi>>["client"], flags: readonly string[], identity = "a") {
  const parts = { client, clock: systemClock, log: silentLogger, registry: new Registry(), identity };
  return startController(parseControllerConfig([...pages, ...flags]), parts);
}

/** From the specification of the controllers, without the metrics of the process itself. */
const families = [
  "agent_sandbox_claim_startup_latency_ms",
  "agent_sandbox_claim_controller_startup_latency_ms",
  "agent_sandbox_client_claim_startup_latency_ms",
  "agent_sandbox_creation_latency_ms",
  "agent_sandbox_claim_creation_total",
  "agent_sandboxes",
  "agent_sandbox_build_info",
  "agent_sandbox_suspend_total",
  "agent_sandbox_resume_total",
  "agent_sandbox_suspend_latency_ms",
  "agent_sandbox_resume_latency_ms",
  "agent_sandbox_finished_total",
  "agent_sandbox_expired_total",
  "agent_sandbox_warmpool_size",
  "controller_runtime_reconcile_total",
  "controller_runtime_reconcile_errors_total",
  "controller_runtime_reconcile_time_seconds",
  "controller_runtime_active_workers",
  "controller_runtime_max_concurrent_reconciles",
  "workqueue_depth",
  "workqueue_adds_total",
  "workqueue_retries_total",
  "workqueue_queue_duration_seconds",
  "workqueue_work_duration_seconds",
  "workqueue_unfinished_work_seconds",
  "workqueue_longest_running_processor_seconds",
];

describe("the pages of the controller", () => {
  it("report that it is alive, and serve the metric families of dashboards", async () => {
    await using lab = await openSandboxLab();
    for (const path of ["healthz", "readyz"]) {
      const response = await fetch(`${lab.controller.healthUrl}/${path}`);
      expect([response.status, await response.text()]).toEqual([200, "ok"]);
    }
    const metrics = await lab.metrics();
    expect(metrics).toMatch(/agent_sandbox_build_info\{git_version="v[^"]+",git_commit="",.*platform="[^"]+"\} 1/);
    expect(metrics).toContain('controller_runtime_max_concurrent_reconciles{controller="sandbox"} 100');
    expect(metrics).toContain('workqueue_depth{name="sandbox",controller="sandbox"} 0');
    expect((await fetch(`${lab.controller.metricsUrl}/other`)).status).toBe(404);
    expect((await fetch(`${lab.controller.metricsUrl}/metrics`, { method: "POST" })).status).toBe(405);
  });

  it("have all metric families of the ecosystem's controller", async () => {
    await using lab = await openExtensionsLab();
    await lab.createTemplate();
    await lab.createPool({ replicas: 1 });
    await lab.untilPool({ readyReplicas: 1 });
    const served = new Set((await lab.metrics()).matchAll(/^# TYPE (\w+) /gm).map(([, name]) => name));
    expect(families.filter((family) => !served.has(family))).toEqual([]);
  });

  it("can be switched off", async () => {
    await using lab = await openSandboxLab({ flags: ["--metrics-bind-address=0", "--health-probe-bind-address=0"] });
    expect(lab.controller).toMatchObject({ metricsUrl: undefined, healthUrl: undefined });
  });

  it("are named in the error if their address is not usable", async () => {
    await using lab = await openSandboxLab();
    await using api = await openMemoryApi();
    const taken = new URL(lab.controller.metricsUrl ?? "").host;
    const flags = ["--leader-elect=false", `--metrics-bind-address=${taken}`];
    await expect(start(api.client, flags)).rejects.toThrow(`cannot serve metrics on ${taken}: listen EADDRINUSE`);
  });
});

it("without its extensions the controller leaves templates, pools and claims alone", async () => {
  await using lab = await openSandboxLab();
  const metadata = (name: string) => ({ namespace: "default", name });
  const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };
  await lab.client.create(sandboxTemplateType, { metadata: metadata("tpl"), spec: { podTemplate } });
  const pool = { sandboxTemplateRef: { name: "tpl" }, replicas: 1 };
  await lab.client.create(sandboxWarmPoolType, { metadata: metadata("warm"), spec: pool });
  await lab.client.create(sandboxClaimType, { metadata: metadata("task"), spec: { warmPoolRef: { name: "warm" } } });
  await lab.create();
  await lab.untilCondition("Ready", { status: "True" });
  await lab.untilQuiet();
  const sandboxes = await lab.client.list(sandboxType, { namespace: "default" });
  expect(sandboxes.items.map(({ metadata: { name } }) => name)).toEqual(["nova"]);
  expect(await lab.find(sandboxClaimType, "task")).not.toHaveProperty("status");
});

describe("with two controllers,", () => {
  it("only the one with the lease works, and the other one continues when it exits", async () => {
    await using api = await openMemoryApi();
    const flags = [`--leader-election-namespace=${lease.namespace}`];
    const first = await start(api.client, flags, "first");
    await vi.waitFor(async () => {
      expect((await api.client.get(leaseType, lease)).spec?.holderIdentity).toBe("first");
    }, waiting);
    await using second = await start(api.client, flags, "second");
    await second.synced;
    const status = async () => (await fetch(`${second.metricsUrl}/metrics`)).text();
    expect(await status()).toContain(`leader_election_master_status{name="${lease.name}"} 0`);

    await first[Symbol.asyncDispose]();
    await vi.waitFor(async () => {
      expect(await status()).toContain(`leader_election_master_status{name="${lease.name}"} 1`);
    }, waiting);
    const { metadata, ...sandbox } = aSandbox({ operatingMode: "Suspended" });
    await api.client.create(sandboxType, { ...sandbox, metadata: { name: metadata.name, namespace: "default" } });
    await vi.waitFor(async () => {
      const seen = await api.client.get(sandboxType, { namespace: "default", name: metadata.name });
      expect(seen.status?.conditions).toContainEqual(expect.objectContaining({ type: "Suspended", status: "True" }));
    }, waiting);
  });

  it("the leader renews its lease over a connection of its own, while other calls wait", async () => {
    await using api = await openMemoryApi();
    const client = interceptCalls(api.client, (call, proceed) =>
      call.kind === "Lease" ? new Promise(() => {}) : proceed(),
    );
    const flags = [...pages, `--leader-election-namespace=${lease.namespace}`];
    const parts = { client, clock: systemClock, log: silentLogger, registry: new Registry(), identity: "first" };
    await using _first = await startController(parseControllerConfig(flags), { ...parts, leaseClient: api.client });
    await vi.waitFor(async () => {
      expect((await api.client.get(leaseType, lease)).spec?.holderIdentity).toBe("first");
    }, waiting);
  });

  it("neither starts without the namespace of the lease", async () => {
    await using api = await openMemoryApi();
    await expect(start(api.client, [])).rejects.toThrow("--leader-election-namespace");
  });
});

describe("the controller as a program", () => {
  const main = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));
  // It takes a second on an idle machine, and a program that is killed prints nothing.
  const limitMs = 60_000;
  const run = (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, [main, ...args], {
      env: bareEnvironment({ KUBECONFIG: "/none" }),
      timeout: limitMs,
    }).then(
      ({ stdout }) => ({ status: 0, said: stdout }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ status: code, said: stderr }),
    );

  it.each([
    { args: ["--help"], status: 0, says: "--sandbox-concurrent-workers integer" },
    { args: ["--version"], status: 0, says: "agent-sandbox-controller v" },
    { args: ["--nope"], status: 2, says: "unknown flag: --nope" },
    { args: ["--kube-api-burst=0"], status: 1, says: "agent-sandbox-controller: --kube-api-burst must be above 0\n" },
    { args: [], status: 1, says: "the environment's kubeconfig cannot be read" },
  ])(
    "ends with status $status on $args",
    async ({ args, status, says }) => {
      const ended = await run(...args);
      expect(ended).toEqual({ status, said: expect.stringContaining(says) });
    },
    2 * limitMs,
  );
});
