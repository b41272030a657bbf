import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { sandboxClaimV1alpha1Type, sandboxV1alpha1Type } from "../../api/conversion/v1alpha1.ts";
import { podType } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { storageMigratedAtAnnotation } from "../../api/rules/keys.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { fill, makePodOf, run } from "../../test/support/builders/migration.ts";
import { anAlphaClaim, anAlphaSandbox } from "../../test/support/builders/versions.ts";
import { recordCalls } from "../../test/support/fakes/recording-client.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { bareEnvironment } from "../../test/support/program.ts";

/** After the time in which API servers apply a changed definition. */
const at = "2026-01-01T00:00:10.000Z";

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

  it("reads only the given namespace, and writes nothing in a dry run", async () => {
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

  it("lists the objects whose state does not fit, and the upgrade goes on", async () => {
    await using api = await openMemoryApi();
    const filler = "x".repeat(262_144 - "filler".length);
    const metadata = { name: "full", namespace: "default", annotations: { filler } };
    await api.client.create(sandboxV1alpha1Type, { ...anAlphaSandbox({ replicas: 1 }), metadata });
    const { fine, said } = await run(api.client, "--phase=bootstrap");
    expect(fine).toBe(true);
    expect(said).toEqual([
      expect.stringMatching(/^note: Sandbox default\/full: annotation .* is left out: .* more than 262144 bytes/),
      "0 created, problems: 0",
    ]);
  });

  it("accepts objects that another client creates at the same time", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    const both = await Promise.all([run(api.client, "--phase=bootstrap"), run(api.client, "--phase=bootstrap")]);
    expect(both.map(({ fine }) => fine)).toEqual([true, true]);
  });
});

describe("the phase after the upgrade", () => {
  it("rewrites every object, in the order of its references, and changes no spec", async () => {
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
      "all objects are stored in v1beta1, and no owner reference uses v1alpha1; you can remove v1alpha1 from status.storedVersions of the four definitions",
    ]);
    const after = await everything();
    expect(after.map(({ metadata }) => metadata.annotations?.[storageMigratedAtAnnotation])).toEqual([at, at, at, at]);
    expect(after.map(({ spec }) => spec)).toEqual(before.map(({ spec }) => spec));
    expect(after.map(({ metadata }) => metadata.generation)).toEqual([1, 1, 1, 1]);
    const older = await api.client.get(sandboxV1alpha1Type, { namespace: "default", name: "nova" });
    expect(older.spec?.replicas).toBe(0);
  });

  it("renames the owners that v0.4 wrote: without v1alpha1 their objects would never be deleted", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    for (const version of ["v1alpha1", "v1beta1"]) await makePodOf(api.client, "nova", version);
    const { fine, said } = await run(api.client, "--phase=migrate");
    expect(fine).toBe(true);
    expect(said).toContain("owner of Pod default/made-in-v1alpha1 rewritten");
    expect(said).toContain("5 rewritten, problems: 0");
    const { items } = await api.client.list(podType);
    const versions = items.flatMap(({ metadata }) => metadata.ownerReferences?.map(({ apiVersion }) => apiVersion));
    expect(versions).toEqual(Array(2).fill("agents.x-k8s.io/v1beta1"));
  });

  it("does not say that v1alpha1 can go while an owner cannot be renamed", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    await makePodOf(api.client, "nova", "v1alpha1");
    const client = recordCalls(api.client);
    client.failWith = ({ verb, kind }) => (verb === "patch" && kind === "Pod" ? new Error("it is stuck") : undefined);
    const { fine, said } = await run(client, "--phase=migrate");
    expect(fine).toBe(false);
    expect(said.slice(-2)).toEqual([
      "problem: owner of Pod default/made-in-v1alpha1: it is stuck",
      "4 rewritten, problems: 1",
    ]);
  });

  it("can be run again", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    const first = await run(api.client, "--phase=migrate");
    expect(await run(api.client, "--phase=migrate")).toEqual(first);
  });

  it("does not report completion for a single namespace", async () => {
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

  it("rewrites an object whose annotations have no room for one more", async () => {
    await using api = await openMemoryApi();
    const filler = "x".repeat(262_144 - "filler".length);
    const metadata = { name: "full", namespace: "default", annotations: { filler } };
    await api.client.create(sandboxV1alpha1Type, { ...anAlphaSandbox(), metadata });
    const client = recordCalls(api.client);
    expect((await run(client, "--phase=migrate")).said).toContain("Sandbox default/full rewritten");
    expect(client.calls.filter(({ verb }) => verb === "patch")).toHaveLength(2);
  });

  it("goes on after a kind that cannot be listed, and reports the server's message", async () => {
    await using api = await openMemoryApi();
    await fill(api.client);
    const client = recordCalls(api.client);
    const message = "conversion webhook for Sandbox failed: Sandbox lab/nova is broken";
    client.failWith = ({ verb, kind }) =>
      verb === "list" && kind === "Sandbox"
        ? new ApiError(500, { apiVersion: "v1", kind: "Status", reason: "InternalError", message })
        : undefined;
    const { fine, said } = await run(client, "--phase=migrate");
    expect(fine).toBe(false);
    expect(said).toContain(`problem: sandboxes cannot be listed: ${message}`);
    expect(said).toContain("SandboxClaim default/cold rewritten");
  });

  it("skips objects deleted meanwhile, and retries after a conflict", async () => {
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
    client.failWith = ({ verb, kind, name }) => {
      const isOfExtensions = verb === "list" ? /^Sandbox\w/.test(kind) : name.endsWith("extensions.agents.x-k8s.io");
      return isOfExtensions ? new ApiError(404, { apiVersion: "v1", kind: "Status", reason: "NotFound" }) : undefined;
    };
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
    expect(client.calls.every(({ verb }) => verb === "list" || verb === "get")).toBe(true);
  });
});

describe("the program", () => {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  const statusOf = (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, [main, ...args], {
      env: bareEnvironment({ KUBECONFIG: "/none" }),
      timeout: 10_000,
    }).then(
      () => 0,
      (error: { readonly code: number }) => error.code,
    );

  it.each([
    { args: ["--help"], status: 0 },
    { args: [], status: 2 },
    { args: ["--phase=finish"], status: 2 },
    { args: ["--phase=migrate", "now"], status: 2 },
    { args: ["--phase=migrate"], status: 1 },
  ])("exits with status $status for $args without an API server", async ({ args, status }) => {
    expect(await statusOf(...args)).toBe(status);
  });
});
