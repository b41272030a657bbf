import { expect, it } from "vitest";
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
