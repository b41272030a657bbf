import { describe, expect, it } from "vitest";
import { customResourceDefinitionType } from "../../api/kinds/core.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { fill, run, storedIn } from "../../test/support/builders/migration.ts";
import { recordCalls } from "../../test/support/fakes/recording-client.ts";
import { openWebhookApi, sandboxDefinitionName as sandboxes } from "../../test/support/labs/webhook-world.ts";
import { definitionNamed, type Version } from "./our-definitions.ts";

const done =
  "all objects are stored in v1beta1, and no owner reference uses v1alpha1; you can remove v1alpha1 from status.storedVersions of the four definitions";
const conflict = new ApiError(409, { apiVersion: "v1", kind: "Status", code: 409, reason: "Conflict" });
const isOfDefinition = (verb: string, kind: string) => verb === "patch" && kind === customResourceDefinitionType.kind;

async function changeVersions(client: KubeClient, name: string, change: (version: Version) => Version): Promise<void> {
  const { versions } = await definitionNamed(name, client, new AbortController().signal);
  const body = { spec: { versions: versions.map(change) } };
  await client.patch(customResourceDefinitionType, { name }, { type: "merge", body });
}

/** As somebody does who replaces one definition. */
const storeSandboxesIn = (client: KubeClient, version: string) =>
  changeVersions(client, sandboxes, (each) => ({ ...each, storage: each.name === version }));

/** Calls `meanwhile` before the first object is written. */
function whileWriting(client: KubeClient, meanwhile: () => Promise<void>): KubeClient {
  let isFirst = true;
  return {
    ...client,
    async patch(type, ...rest) {
      if (isFirst && type.kind === "SandboxWarmPool") {
        isFirst = false;
        await meanwhile();
      }
      return client.patch(type, ...rest);
    },
  };
}

describe("the stored version", () => {
  it("is v1beta1 again after the phase migrate, before the first object is written", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    expect((await run(api.client, "--phase=revert")).fine).toBe(true);
    expect(await storedIn(api.client)).toEqual(Array(4).fill("v1alpha1"));
    let atFirstWrite: readonly unknown[] = [];
    const client = whileWriting(api.client, async () => {
      atFirstWrite = await storedIn(api.client);
    });
    const { fine, said } = await run(client, "--phase=migrate");
    expect(fine).toBe(true);
    expect(atFirstWrite).toEqual(Array(4).fill("v1beta1"));
    expect(said).toContain(`note: the stored version of ${sandboxes} has changed to v1beta1, for the whole cluster`);
    expect(said.at(-1)).toBe(done);
    expect(await storedIn(api.client)).toEqual(Array(4).fill("v1beta1"));
  });

  it("stays as it is in a dry run, which tells what would change", async () => {
    await using api = await openWebhookApi();
    await storeSandboxesIn(api.client, "v1alpha1");
    const { said } = await run(api.client, "--phase=migrate", "--dry-run");
    expect(said).toEqual([
      `note: the stored version of ${sandboxes} would change to v1beta1, for the whole cluster`,
      "dry run: nothing was written; 0 to be rewritten, problems: 0",
    ]);
    expect(new Set(await storedIn(api.client))).toEqual(new Set(["v1alpha1", "v1beta1"]));
  });

  it.each(["migrate", "revert"])("is written again after a conflict, in phase %s", async (phase) => {
    await using api = await openWebhookApi();
    await storeSandboxesIn(api.client, phase === "migrate" ? "v1alpha1" : "v1beta1");
    const client = recordCalls(api.client);
    let conflicts = 0;
    client.failWith = ({ verb, kind }) => (isOfDefinition(verb, kind) && conflicts++ < 2 ? conflict : undefined);
    expect((await run(client, `--phase=${phase}`)).fine).toBe(true);
    expect(new Set(await storedIn(api.client))).toEqual(new Set([phase === "migrate" ? "v1beta1" : "v1alpha1"]));
  });

  it.each(["migrate", "revert"])("is a problem if it cannot be changed: phase %s writes no object", async (phase) => {
    await using api = await openWebhookApi();
    await fill(api.client);
    if (phase === "migrate") await storeSandboxesIn(api.client, "v1alpha1");
    const client = recordCalls(api.client);
    client.failWith = ({ verb, kind }) => (isOfDefinition(verb, kind) ? conflict : undefined);
    const { fine, said } = await run(client, `--phase=${phase}`);
    expect(fine).toBe(false);
    expect(said[0]).toMatch(new RegExp(`^problem: the stored version of ${sandboxes} is not v1(beta|alpha)1: `));
    const written = client.calls.filter(({ verb, kind }) => verb === "patch" && !isOfDefinition(verb, kind));
    expect(written).toEqual([]);
  });

  it.each([
    ["migrate", "v1beta1", "v1alpha1"],
    ["revert", "v1alpha1", "v1beta1"],
  ])("is a problem of phase %s if somebody changes it meanwhile", async (phase, wanted, other) => {
    await using api = await openWebhookApi();
    await fill(api.client);
    const client = whileWriting(api.client, () => storeSandboxesIn(api.client, other));
    const { fine, said } = await run(client, `--phase=${phase}`);
    expect(fine).toBe(false);
    expect(said).toContain(
      `problem: the stored version of ${sandboxes} is no longer ${wanted}: somebody has changed it while objects were rewritten; run this phase again`,
    );
    expect(said.filter((line) => line.startsWith("all objects"))).toEqual([]);
  });

  it("cannot become v1beta1 where a definition does not serve it: nothing is written", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    const name = "sandboxclaims.extensions.agents.x-k8s.io";
    await changeVersions(api.client, name, (each) => ({ ...each, served: each.name === "v1alpha1" }));
    const client = recordCalls(api.client);
    const { fine, said } = await run(client, "--phase=migrate");
    expect(fine).toBe(false);
    expect(said).toEqual([
      `problem: ${name} does not serve v1beta1: upgrade the definitions first`,
      "0 rewritten, problems: 1",
    ]);
    expect(client.calls.filter(({ verb }) => verb === "patch")).toEqual([]);
  });

  it("is not claimed for a kind that is not served although its definition exists", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    const client = recordCalls(api.client);
    client.failWith = ({ verb, kind }) =>
      verb === "list" && kind === "SandboxClaim"
        ? new ApiError(404, { apiVersion: "v1", kind: "Status", reason: "NotFound" })
        : undefined;
    const { fine, said } = await run(client, "--phase=migrate");
    expect(fine).toBe(false);
    expect(said).toContain("problem: sandboxclaims are not served in v1beta1: upgrade the definitions first");
  });
});
