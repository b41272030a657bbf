import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, vi } from "vitest";
import {
  sandboxClaimV1alpha1Type,
  sandboxTemplateV1alpha1Type,
  sandboxV1alpha1Type,
  sandboxWarmPoolV1alpha1Type,
} from "../api/conversion/v1alpha1.ts";
import { customResourceDefinitionType, podType } from "../api/core.ts";
import { storageMigratedAtAnnotation } from "../api/keys.ts";
import type { KubeObject } from "../api/meta.ts";
import type { ResourceType } from "../api/resource-type.ts";
import { sandboxType } from "../api/sandbox.ts";
import { sandboxClaimType } from "../api/sandbox-claim.ts";
import { sandboxTemplateType } from "../api/sandbox-template.ts";
import { sandboxWarmPoolType } from "../api/sandbox-warm-pool.ts";
import type { KubeClient } from "../kube/client.ts";
import { ApiError } from "../kube/errors.ts";
import { type Clock, FakeClock } from "../lib/clock.ts";
import { openMemoryApi } from "../test/support/memory-api.ts";
import { recordCalls } from "../test/support/recording-client.ts";
import { anAlphaClaim, anAlphaPool, anAlphaSandbox, anAlphaTemplate } from "../test/support/versions.ts";
import { waiting } from "../test/support/waiting.ts";
import { openWebhookApi } from "../test/support/webhook-world.ts";
import { parseMigrateConfig } from "./config.ts";
import { runMigration } from "./run.ts";

const at = "2026-01-01T00:00:00.000Z";

const run = (client: KubeClient, ...flags: readonly string[]) => runBy(new FakeClock(), client, ...flags);

async function runBy(clock: Clock, client: KubeClient, ...flags: readonly string[]) {
  const said: string[] = [];
  const world = { client, clock, say: (line: string) => void said.push(line) };
  const fine = await runMigration(parseMigrateConfig(flags), world, new AbortController().signal);
  return { fine, said };
}

async function fill(client: KubeClient, namespace = "default"): Promise<void> {
  const named = (name: string) => ({ metadata: { name, namespace } });
  await client.create(sandboxTemplateV1alpha1Type, { ...anAlphaTemplate(), ...named("my-template") });
  await client.create(sandboxWarmPoolV1alpha1Type, { ...anAlphaPool(), ...named("my-pool") });
  await client.create(sandboxV1alpha1Type, { ...anAlphaSandbox({ replicas: 0 }), ...named("nova") });
  await client.create(sandboxClaimV1alpha1Type, { ...anAlphaClaim(), ...named("cold") });
}

async function poolNames(client: KubeClient): Promise<readonly string[]> {
  return (await client.list(sandboxWarmPoolType)).items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
}

describe("the phase before the upgrade", () => {
  it("makes the pools that are missing, and nothing when it is run again", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    expect(await run(api.client, "--phase=bootstrap")).toEqual({
      fine: true,
      said: ["pool default/shadow-pool-my-template created", "1 created, problems: 0"],
    });
    expect(await poolNames(api.client)).toEqual(["default/my-pool", "default/shadow-pool-my-template"]);
    const claim = await api.client.get(sandboxClaimType, { namespace: "default", name: "cold" });
    expect(claim.spec.warmPoolRef.name).toBe("shadow-pool-my-template");
    expect(await run(api.client, "--phase=bootstrap")).toEqual({ fine: true, said: ["0 created, problems: 0"] });
  });

  it("looks only where it is told to, and writes nothing in a dry run", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    await fill(api.client, "kube-system");
    const { said } = await run(api.client, "--phase=bootstrap", "--dry-run", "--namespace=kube-system");
    expect(said).toEqual([
      "pool kube-system/shadow-pool-my-template would be created",
      "dry run: nothing was written; 1 to be created, problems: 0",
    ]);
    expect(await poolNames(api.client)).toEqual(["default/my-pool", "kube-system/my-pool"]);
  });

  it("says when the upgrade cannot go on", async () => {
    await using api = await openMemoryApi();
    const spec = { sandboxTemplateRef: { name: "t".repeat(60) } };
    const metadata = { name: "cold", namespace: "default" };
    await api.client.create(sandboxClaimV1alpha1Type, { ...anAlphaClaim(spec), metadata });
    const { fine, said } = await run(api.client, "--phase=bootstrap");
    expect(fine).toBe(false);
    expect(said.at(-1)).toBe("0 created, problems: 1");
  });

  it("leaves to another what another makes at the same time", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    const both = await Promise.all([run(api.client, "--phase=bootstrap"), run(api.client, "--phase=bootstrap")]);
    expect(both.map(({ fine }) => fine)).toEqual([true, true]);
  });
});

describe("the phase after the upgrade", () => {
  it("U5, U6: writes every object anew, pools before templates before sandboxes before claims, and changes no spec", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    const types: readonly ResourceType<KubeObject & { readonly spec: object }>[] = [
      sandboxWarmPoolType,
      sandboxTemplateType,
      sandboxType,
      sandboxClaimType,
    ];
    const everything = async () =>
      (await Promise.all(types.map((type) => api.client.list(type)))).flatMap((l) => l.items);
    const before = await everything();
    const { fine, said } = await run(api.client, "--phase=migrate");
    expect(fine).toBe(true);
    expect(said).toEqual([
      "SandboxWarmPool default/my-pool rewritten",
      "SandboxTemplate default/my-template rewritten",
      "Sandbox default/nova rewritten",
      "SandboxClaim default/cold rewritten",
      "4 rewritten, problems: 0",
      "everything is stored in v1beta1; v1alpha1 can be taken out of status.storedVersions of the four definitions",
    ]);
    const after = await everything();
    expect(after.map(({ metadata }) => metadata.annotations?.[storageMigratedAtAnnotation])).toEqual([at, at, at, at]);
    expect(after.map(({ spec }) => spec)).toEqual(before.map(({ spec }) => spec));
    expect(after.map(({ metadata }) => metadata.generation)).toEqual([1, 1, 1, 1]);
    const older = await api.client.get(sandboxV1alpha1Type, { namespace: "default", name: "nova" });
    expect(older.spec?.replicas).toBe(0);
  });

  it("can be run again", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    const first = await run(api.client, "--phase=migrate");
    expect(await run(api.client, "--phase=migrate")).toEqual(first);
  });

  it("does not call everything migrated when it has looked into one namespace only", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    const { said } = await run(api.client, "--phase=migrate", "--namespace=default");
    expect(said.at(-1)).toBe("4 rewritten, problems: 0");
  });

  it("goes on after an object that cannot be written, and says which it was", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    const client = recordCalls(api.client);
    client.failWith = ({ verb, kind }) =>
      verb === "patch" && kind === "Sandbox" ? new Error("it is stuck") : undefined;
    const { fine, said } = await run(client, "--phase=migrate");
    expect(fine).toBe(false);
    expect(said).toContain("problem: Sandbox default/nova: it is stuck");
    expect(said.at(-1)).toBe("3 rewritten, problems: 1");
  });

  it("passes over what is deleted meanwhile, and tries again after a conflict", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    const client = recordCalls(api.client);
    const failure = (code: number, reason: string) =>
      new ApiError(code, { apiVersion: "v1", kind: "Status", code, reason });
    let conflicts = 0;
    client.failWith = ({ verb, kind }) => {
      if (verb !== "patch") return undefined;
      if (kind === "Sandbox") return failure(404, "NotFound");
      if (kind === "SandboxClaim" && conflicts++ < 2) return failure(409, "Conflict");
      return undefined;
    };
    const { fine, said } = await run(client, "--phase=migrate");
    expect(fine).toBe(true);
    expect(said).toContain("3 rewritten, problems: 0");
  });

  it("skips kinds that are not installed", async () => {
    await using api = await openMemoryApi();
    const client = recordCalls(api.client);
    client.failWith = ({ verb, kind }) =>
      verb === "list" && kind !== "Sandbox"
        ? new ApiError(404, { apiVersion: "v1", kind: "Status", reason: "NotFound" })
        : undefined;
    const { fine, said } = await run(client, "--phase=migrate");
    expect(fine).toBe(true);
    expect(said).toContain("note: sandboxclaims are not served in v1beta1: skipped");
  });

  it("cannot be run before the upgrade", async () => {
    await using api = await openMemoryApi();
    const client = recordCalls(api.client);
    client.failWith = () => new ApiError(404, { apiVersion: "v1", kind: "Status", reason: "NotFound" });
    const { fine, said } = await run(client, "--phase=migrate");
    expect(fine).toBe(false);
    expect(said).toContain("problem: sandboxes are not served in v1beta1: upgrade the definitions first");
  });

  it("writes nothing in a dry run", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    const client = recordCalls(api.client);
    const { said } = await run(client, "--phase=migrate", "--dry-run");
    expect(said.at(-1)).toBe("dry run: nothing was written; 4 to be rewritten, problems: 0");
    expect(client.calls.every(({ verb }) => verb === "list")).toBe(true);
  });
});

describe("the phase before going back", () => {
  /** A Pod of the sandbox that is there; whatever names an owner that is not there is deleted. */
  async function makePodOf(client: KubeClient, sandbox: string, version: string): Promise<void> {
    const { uid } = (await client.get(sandboxType, { namespace: "default", name: sandbox })).metadata;
    const owner = { apiVersion: `agents.x-k8s.io/${version}`, kind: "Sandbox", name: sandbox, uid };
    const metadata = { name: `made-in-${version}`, namespace: "default", ownerReferences: [owner] };
    await client.create(podType, { metadata, spec: { containers: [{ name: "main", image: "busybox:1.36" }] } });
  }
  const versionsOf = async (client: KubeClient) => {
    const { items } = await client.list(customResourceDefinitionType);
    return items.map(
      ({ spec }) => (spec?.versions ?? []) as readonly { readonly name: string; readonly storage: boolean }[],
    );
  };
  const storedIn = async (client: KubeClient) =>
    (await versionsOf(client)).map((versions) => versions.find(({ storage }) => storage)?.name);

  it("has every kind stored in v1alpha1, gives API servers time to notice, and rewrites every object", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    for (const version of ["v1beta1", "v1alpha1"]) await makePodOf(api.client, "nova", version);
    const client = recordCalls(api.client);
    const clock = new FakeClock();
    const running = runBy(clock, client, "--phase=revert");
    await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
    expect(await storedIn(api.client)).toEqual(Array(4).fill("v1alpha1"));
    expect(client.calls.filter(({ verb, kind }) => verb === "patch" && kind !== "CustomResourceDefinition")).toEqual(
      [],
    );
    await clock.advance(10_000);
    const { fine, said } = await running;
    expect(fine).toBe(true);
    expect(said.slice(-3)).toEqual([
      "owner of Pod default/made-in-v1beta1 rewritten",
      "5 rewritten, problems: 0",
      "everything is stored in v1alpha1; v1beta1 can be taken out of status.storedVersions of the four definitions",
    ]);
  });

  it("looks again at what was changed while it looked", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    await makePodOf(api.client, "nova", "v1beta1");
    const client = recordCalls(api.client);
    let given = false;
    client.failWith = ({ verb, kind }) => {
      if (verb !== "patch" || kind !== "Pod" || given) return undefined;
      given = true;
      return new ApiError(409, { apiVersion: "v1", kind: "Status", code: 409, reason: "Conflict" });
    };
    const clock = new FakeClock();
    const running = runBy(clock, client, "--phase=revert");
    await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
    await clock.advance(10_000);
    expect((await running).fine).toBe(true);
    const { metadata } = await api.client.get(podType, { namespace: "default", name: "made-in-v1beta1" });
    expect(metadata.ownerReferences?.map(({ apiVersion }) => apiVersion)).toEqual(["agents.x-k8s.io/v1alpha1"]);
    expect(client.calls.filter(({ verb, kind }) => verb === "get" && kind === "Pod")).toHaveLength(1);
  });

  it("changes nothing in a dry run, nor where the older version is no longer served", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    expect((await run(api.client, "--phase=revert", "--dry-run")).said.at(-1)).toBe(
      "dry run: nothing was written; 4 to be rewritten, problems: 0",
    );
    const body = { spec: { versions: (await versionsOf(api.client))[0]?.filter(({ name }) => name === "v1beta1") } };
    const name = "sandboxes.agents.x-k8s.io";
    await api.client.patch(customResourceDefinitionType, { name }, { type: "merge", body });
    const { fine, said } = await run(api.client, "--phase=revert", "--dry-run");
    expect(fine).toBe(false);
    expect(said).toContain("problem: sandboxes.agents.x-k8s.io does not serve v1alpha1");
  });
});

describe("the program", () => {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  const statusOf = (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, [main, ...args], { env: { KUBECONFIG: "/none" }, timeout: 10_000 }).then(
      () => 0,
      (error: { readonly code: number }) => error.code,
    );

  it.each([
    { args: ["--help"], status: 0 },
    { args: [], status: 2 },
    { args: ["--phase=finish"], status: 2 },
    { args: ["--phase=migrate", "now"], status: 2 },
    { args: ["--phase=migrate"], status: 1 },
  ])("ends with status $status for $args where there is no API server", async ({ args, status }) => {
    expect(await statusOf(...args)).toBe(status);
  });
});
