import { describe, expect, it } from "vitest";
import { configMapType, eventType, namespaceType } from "../../api/kinds/core.ts";
import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNotFound } from "../../kube/client/errors.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";

const where = { namespace: "default", name: "owner" };

const ownedBy = ({ metadata: { uid } }: Stored<KubeObject>) => ({
  ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid, blockOwnerDeletion: true }],
});

const isGone = (client: KubeClient, name: string) =>
  client.get(configMapType, { namespace: "default", name }).then(
    () => false,
    (error: unknown) => isNotFound(error),
  );

it("keeps a namespace whose owner is an object in a namespace, and says so in an event", async () => {
  await using api = await openMemoryApi();
  const { client } = api;
  const owner = await client.create(configMapType, { metadata: where });
  const precious = await client.create(namespaceType, { metadata: { name: "precious", ...ownedBy(owner) } });
  await client.create(configMapType, { metadata: { namespace: "default", name: "dependent", ...ownedBy(owner) } });
  const events = async () => {
    const { items } = await client.list(eventType, { namespace: "default" });
    return items.map(({ type, reason, note, regarding }) => ({ type, reason, note, about: regarding?.uid }));
  };
  await expect.poll(events).toContainEqual({
    type: "Warning",
    reason: "OwnerRefInvalidNamespace",
    note: `ownerRef [v1/ConfigMap, namespace: , name: owner, uid: ${owner.metadata.uid}] does not exist in namespace ""`,
    about: precious.metadata.uid,
  });

  await client.delete(configMapType, where, { propagationPolicy: "Foreground" });
  await expect.poll(() => isGone(client, "dependent")).toBe(true);
  await expect.poll(() => isGone(client, "owner")).toBe(true);
  expect((await client.get(namespaceType, { name: "precious" })).metadata.deletionTimestamp).toBeUndefined();
});

describe("foreground deletion in a cycle of owners", () => {
  const named = (name: string) => ({ namespace: "default", name });
  const own = (client: KubeClient, name: string, owner: Stored<KubeObject>) =>
    client.patch(configMapType, named(name), { type: "merge", body: { metadata: ownedBy(owner) } });

  it("ends for an object that owns itself", async () => {
    await using api = await openMemoryApi();
    const { client } = api;
    await own(client, "owner", await client.create(configMapType, { metadata: where }));
    await client.delete(configMapType, where, { propagationPolicy: "Foreground" });
    await expect.poll(() => isGone(client, "owner")).toBe(true);
  });

  it("ends for two objects that were both deleted before they owned each other", async () => {
    await using api = await openMemoryApi();
    const { client } = api;
    const owner = await client.create(configMapType, { metadata: where });
    const other = await client.create(configMapType, { metadata: { ...named("other"), ...ownedBy(owner) } });
    const finalizers = ["rouse.dev/wait"];
    await client.create(configMapType, { metadata: { ...named("third"), ...ownedBy(other), finalizers } });
    for (const name of ["other", "owner"]) {
      await client.delete(configMapType, named(name), { propagationPolicy: "Foreground" });
    }
    await own(client, "owner", other);
    await client.patch(configMapType, named("third"), { type: "merge", body: { metadata: { finalizers: null } } });
    for (const name of ["third", "other", "owner"]) await expect.poll(() => isGone(client, name)).toBe(true);
  });

  it("keeps an owner while its dependent waits for another object, which is in no cycle", async () => {
    await using api = await openMemoryApi();
    const { client } = api;
    const owner = await client.create(configMapType, { metadata: where });
    const child = await client.create(configMapType, { metadata: { ...named("child"), ...ownedBy(owner) } });
    const finalizers = ["rouse.dev/wait"];
    await client.create(configMapType, { metadata: { ...named("grandchild"), ...ownedBy(child), finalizers } });
    for (const name of ["grandchild", "child", "owner"]) {
      await client.delete(configMapType, named(name), { propagationPolicy: "Foreground" });
    }
    const clearing = { type: "merge", body: { metadata: { finalizers: null } } } as const;
    const waiting = async (name: string) => (await client.get(configMapType, named(name))).metadata.finalizers;
    await expect.poll(() => waiting("grandchild")).toEqual(finalizers);
    for (const name of ["child", "owner"]) expect(await waiting(name)).toEqual(["foregroundDeletion"]);
    await client.patch(configMapType, named("grandchild"), clearing);
    for (const name of ["grandchild", "child", "owner"]) await expect.poll(() => isGone(client, name)).toBe(true);
  });
});
