import { expect, it } from "vitest";
import { configMapType, podType } from "../../api/kinds/core.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import { openMemoryApi } from "./memory-api.ts";

it("an API server in memory stores writes of its client and reports them to a watch", async () => {
  await using api = await openMemoryApi();
  const metadata = { name: "settings", namespace: "default" };
  const created = await api.client.create(configMapType, { metadata, data: { a: "1" } });
  const stop = new AbortController();
  const events = api.client.watch(
    configMapType,
    { namespace: "default", resourceVersion: created.metadata.resourceVersion },
    stop.signal,
  );
  const patched = await api.client.patch(configMapType, metadata, { type: "merge", body: { data: { b: "2" } } });
  expect(patched.data).toEqual({ a: "1", b: "2" });
  for await (const event of events) {
    expect(event).toEqual({ type: "MODIFIED", object: patched });
    break;
  }
  stop.abort();
  await expect(api.client.replace(configMapType, created)).rejects.toSatisfy(isConflict);
  await api.client.delete(configMapType, metadata);
  await expect(api.client.get(configMapType, metadata)).rejects.toSatisfy(isNotFound);
  expect((await api.client.list(podType)).items).toEqual([]);
});
