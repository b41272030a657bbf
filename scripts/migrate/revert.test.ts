import { describe, expect, it, vi } from "vitest";
import { customResourceDefinitionType, leaseType, podType } from "../../api/kinds/core.ts";
import { memoryImageType } from "../../api/kinds/memory-image.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { leaderLeaseName } from "../../api/rules/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { anImage } from "../../test/support/builders/memory-images.ts";
import {
  fill,
  listDefinitions,
  makePodOf,
  run,
  runBy,
  storedIn,
  versionsOf,
} from "../../test/support/builders/migration.ts";
import { chartRights, rightOf } from "../../test/support/chart-rights.ts";
import { recordCalls } from "../../test/support/fakes/recording-client.ts";
import { openWebhookApi } from "../../test/support/labs/webhook-world.ts";
import { waiting } from "../../test/support/waiting.ts";
import { ownedKinds } from "./name-owners.ts";

describe("the phase before going back", () => {
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
      "all objects are stored in v1alpha1; you can remove v1beta1 from status.storedVersions of the four definitions",
    ]);
  });

  it("rereads objects that changed during its pass", async () => {
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

  /** Imitates a running controller: creates another Pod after each write of an owner, up to `times`. */
  function busyController(client: KubeClient, times: number): KubeClient {
    let made = 0;
    return {
      ...client,
      async patch(type, name, patch, ...rest) {
        const patched = await client.patch(type, name, patch, ...rest);
        if (type.kind !== "Pod" || made === times) return patched;
        made += 1;
        const { uid } = (await client.get(sandboxType, { namespace: "default", name: "nova" })).metadata;
        const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "nova", uid };
        const metadata = { name: `later-${made}`, namespace: "default", ownerReferences: [owner] };
        await client.create(podType, { metadata, spec: { containers: [{ name: "main", image: "busybox:1.36" }] } });
        return patched;
      },
    };
  }

  it("repeats its pass over all owners until it finds nothing to write", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    await makePodOf(api.client, "nova", "v1beta1");
    const { fine, said } = await run(busyController(api.client, 3), "--phase=revert");
    expect(fine).toBe(true);
    expect(said).toContain("8 rewritten, problems: 0");
    const { items } = await api.client.list(podType);
    const versions = items.flatMap(({ metadata }) => metadata.ownerReferences?.map(({ apiVersion }) => apiVersion));
    expect(versions).toEqual(Array(4).fill("agents.x-k8s.io/v1alpha1"));
  });

  it("gives up after ten passes that all found something, and says that it is not done", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    await makePodOf(api.client, "nova", "v1beta1");
    const { fine, said } = await run(busyController(api.client, 1_000), "--phase=revert");
    expect(fine).toBe(false);
    expect(said.at(-2)).toMatch(/^problem: pass 10 still found owner references in v1beta1/);
    expect(said.at(-1)).toBe("14 rewritten, problems: 1");
  });

  it.each([
    { renewed: "2026-01-01T00:00:00.000000Z", holder: "rouse-1", reported: true },
    { renewed: "2025-12-31T23:50:00.000000Z", holder: "rouse-1", reported: false },
    { renewed: "2026-01-01T00:00:00.000000Z", holder: undefined, reported: false },
  ])("reports ($reported) the leading controller $holder with a Lease renewed at $renewed", async (lease) => {
    await using api = await openWebhookApi();
    await fill(api.client);
    const { holder, renewed: renewTime } = lease;
    await api.client.create(leaseType, {
      metadata: { namespace: "default", name: leaderLeaseName },
      spec: { leaseDurationSeconds: 15, renewTime, ...(holder && { holderIdentity: holder }) },
    });
    const { fine, said } = await run(api.client, "--phase=revert");
    expect(fine).toBe(true);
    const note = `note: rouse-1 leads (Lease default/${leaderLeaseName}) and keeps writing owner references in v1beta1: run this phase again once the older release is installed`;
    expect(said.includes(note)).toBe(lease.reported);
  });

  it("names the owners that are left once the older release is in its place, at once", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    await run(api.client, "--phase=revert");
    await makePodOf(api.client, "nova", "v1beta1");
    for (const { metadata, spec } of await listDefinitions(api.client)) {
      const versions = (spec?.versions ?? []) as readonly { readonly name: string }[];
      const body = { spec: { versions: versions.filter(({ name }) => name === "v1alpha1") } };
      await api.client.patch(customResourceDefinitionType, { name: metadata.name }, { type: "merge", body });
    }
    const last = "v1beta1 is no longer served, and no owner reference uses it";
    expect(await run(api.client, "--phase=revert")).toEqual({
      fine: true,
      said: ["owner of Pod default/made-in-v1beta1 rewritten", "1 rewritten, problems: 0", last],
    });
    expect((await run(api.client, "--phase=revert")).said).toEqual(["0 rewritten, problems: 0", last]);
  });

  it("says that a namespace limits the objects, and not the stored version", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    const clock = new FakeClock();
    const running = runBy(clock, api.client, "--phase=revert", "--namespace=default");
    await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
    await clock.advance(10_000);
    const { said } = await running;
    expect(await storedIn(api.client)).toEqual(Array(4).fill("v1alpha1"));
    const limited =
      "objects were rewritten in namespace default only: run this phase without --namespace before the rollback";
    expect(said).toContain(`note: the stored version has changed to v1alpha1 for the whole cluster, but ${limited}`);
    const dry = await run(api.client, "--phase=revert", "--namespace=default", "--dry-run");
    expect(dry.said).toContain(
      `note: the stored version would change to v1alpha1 for the whole cluster, but ${limited}`,
    );
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

it("a MemoryImage whose owner is named in v1beta1 is a problem, and stays as it is", async () => {
  await using api = await openWebhookApi();
  await fill(api.client);
  const { uid } = (await api.client.get(sandboxType, { namespace: "default", name: "nova" })).metadata;
  const ownerReferences = [{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "nova", uid }];
  const { spec } = anImage();
  const metadata = { name: "pod-1", namespace: "default", ownerReferences };
  const made = await api.client.create(memoryImageType, { metadata, spec });
  const clock = new FakeClock();
  const running = runBy(clock, api.client, "--phase=revert");
  await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
  await clock.advance(10_000);
  const { fine, said } = await running;
  expect(fine).toBe(false);
  expect(said).toContain(
    "problem: owner of MemoryImage default/pod-1: only the controller may change it: disable hibernation and delete all memoryimages first",
  );
  expect(said.join()).not.toContain("all objects are stored in v1alpha1");
  expect(await api.client.get(memoryImageType, { namespace: "default", name: "pod-1" })).toEqual(made);
});

it("the phases know every kind that the controller may create, but for those without an owner", () => {
  const { everywhere, somewhere } = chartRights("controller");
  const created = [...everywhere, ...somewhere].filter((right) => right.startsWith("create "));
  const owned = ownedKinds("v1beta1").map(({ type }) => rightOf("create", type.group, type.plural));
  const unowned = ["configmaps", "events.events.k8s.io", "leases.coordination.k8s.io", "secrets"];
  expect(created.filter((right) => !owned.includes(right)).toSorted()).toEqual(unowned.map((kind) => `create ${kind}`));
  expect(owned.filter((right) => !created.includes(right))).toEqual([]);
});
