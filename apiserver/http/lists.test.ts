import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import { listEverything } from "../../kube/client/list-everything.ts";
import type { Reply } from "../../test/contract/contract-api.ts";
import { type MemoryApi, openMemoryApi } from "../../test/support/memory-api.ts";
import { continueToken } from "./continue-token.ts";

const never = new AbortController().signal;
const namespace = "default";

async function listOf({ url }: MemoryApi, query: string) {
  const response = await fetch(`${url}/api/v1/namespaces/${namespace}/configmaps?${query}`);
  return { code: response.status, ...((await response.json()) as Reply["list"]) };
}

it("a page has no more than 16 MiB, and a list without a limit has all objects", async () => {
  await using api = await openMemoryApi();
  for (let number = 10; number < 24; number += 1) {
    const data = { a: "x".repeat(1_400_000) };
    await api.client.create(configMapType, { metadata: { namespace, name: `c${number}` }, data });
  }
  const { items, metadata } = await listOf(api, "limit=500");
  expect(items).toHaveLength(11);
  expect(metadata.remainingItemCount).toBe(3);
  expect((await listOf(api, "")).items).toHaveLength(14);
  expect((await listOf(api, "limit=1&resourceVersion=0")).items).toHaveLength(14);
  expect((await listEverything(api.client, configMapType, {}, never)).items).toHaveLength(14);
});

it("a token of a version that is no longer known, or not of this server, gets 410", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-lists-"));
  const options = { dataDir: join(folder.path, "api") };
  const firstPage = async () => {
    await using api = await openMemoryApi(options);
    for (const name of ["a", "b"]) await api.client.create(configMapType, { metadata: { namespace, name } });
    const { metadata } = await listOf(api, "limit=1");
    await api.client.create(configMapType, { metadata: { namespace, name: "c" } });
    return metadata.continue;
  };
  const token = await firstPage();
  await using api = await openMemoryApi(options);
  const expired = { code: 410, reason: "Expired" };
  expect(await listOf(api, `limit=1&continue=${token}`)).toMatchObject(expired);
  const future = continueToken({ version: 1_000_000, start: "a" });
  expect(await listOf(api, `limit=1&continue=${future}`)).toMatchObject(expired);
});

it("a list of exactly a version that is known shows that version", async () => {
  await using api = await openMemoryApi();
  await api.client.create(configMapType, { metadata: { namespace, name: "a" } });
  const { resourceVersion } = (await listOf(api, "")).metadata;
  await api.client.create(configMapType, { metadata: { namespace, name: "b" } });
  const { items, metadata } = await listOf(api, `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`);
  expect([items.length, metadata.resourceVersion]).toEqual([1, resourceVersion]);
});
