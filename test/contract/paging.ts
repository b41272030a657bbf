import { describe, expect, it } from "vitest";
import type { ContractApi, OpenContractApi } from "./contract-api.ts";
import { aSandbox, sandboxesOf } from "./subjects.ts";

const create = async (api: ContractApi, ...names: readonly string[]) => {
  for (const name of names) await api.call("POST", sandboxesOf(api), { body: aSandbox(name) });
};

/** A page of the sandboxes of a test. */
async function pageOf(api: ContractApi, query: string) {
  const { metadata, items } = (await api.call("GET", `${sandboxesOf(api)}?${query}`)).list;
  const { resourceVersion, continue: token, remainingItemCount } = metadata;
  // kube-apiserver says that there are no further pages by an empty token.
  return {
    names: items.map((item) => item.metadata.name),
    resourceVersion,
    token: token || undefined,
    remainingItemCount,
  };
}

const from = (token: string | undefined) => `&continue=${encodeURIComponent(token ?? "")}`;

/** The names in all pages of a list. */
async function namesOf(api: ContractApi, query: string) {
  const names = [];
  let page = await pageOf(api, query);
  names.push(...page.names);
  while (page.token) {
    page = await pageOf(api, query + from(page.token));
    names.push(...page.names);
  }
  return names;
}

export function describePaging(where: string, open: OpenContractApi): void {
  describe(`a list in pages of ${where}`, () => {
    it("has a token to continue with, and tells how many objects remain, up to its last page", async () => {
      await using api = await open();
      await create(api, "a", "b", "c", "d", "e");
      const first = await pageOf(api, "limit=2");
      expect(first).toMatchObject({ names: ["a", "b"], token: expect.any(String), remainingItemCount: 3 });
      const second = await pageOf(api, `limit=2${from(first.token)}`);
      expect(second).toMatchObject({ names: ["c", "d"], token: expect.any(String), remainingItemCount: 1 });
      const last = await pageOf(api, `limit=2${from(second.token)}`);
      expect(last).toMatchObject({ names: ["e"], token: undefined, remainingItemCount: undefined });
      expect([second.resourceVersion, last.resourceVersion]).toEqual([first.resourceVersion, first.resourceVersion]);
    });

    it("shows the state of its first page in all pages, whatever their size", async () => {
      await using api = await open();
      await create(api, "a", "b", "c", "d");
      const { token, resourceVersion } = await pageOf(api, "limit=1");
      await api.call("DELETE", `${sandboxesOf(api)}/b`);
      await api.call("PATCH", `${sandboxesOf(api)}/c`, {
        body: { metadata: { labels: { color: "red" } } },
        contentType: "application/merge-patch+json",
      });
      await create(api, "bb", "e");
      const rest = await pageOf(api, `limit=500${from(token)}`);
      expect(rest).toMatchObject({ names: ["b", "c", "d"], token: undefined, resourceVersion });
      expect(await namesOf(api, "limit=2")).toEqual(["a", "bb", "c", "d", "e"]);
      expect(await namesOf(api, `limit=500${from(token)}&labelSelector=color`)).toEqual([]);
    });

    it("has all selected objects, and does not tell how many remain", async () => {
      await using api = await open();
      await create(api, "a", "b", "c", "d");
      const query = `limit=1&fieldSelector=${encodeURIComponent("metadata.name!=b")}`;
      expect(await pageOf(api, query)).toMatchObject({ names: ["a"], remainingItemCount: undefined });
      expect(await namesOf(api, query)).toEqual(["a", "c", "d"]);
    });

    it("can be a list of tables", async () => {
      await using api = await open();
      await create(api, "a", "b", "c");
      const headers = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };
      const { object } = await api.call("GET", `${sandboxesOf(api)}?limit=2`, { headers });
      expect(object["rows"]).toHaveLength(2);
      expect(object.metadata).toMatchObject({ continue: expect.any(String), remainingItemCount: 1 });
    });

    it("is refused with a bad token, and with a token and a version", async () => {
      await using api = await open();
      await create(api, "a", "b");
      const { token, resourceVersion } = await pageOf(api, "limit=1");
      const codeOf = async (query: string) => (await api.call("GET", `${sandboxesOf(api)}?limit=1${query}`)).code;
      expect(await codeOf("&continue=nonsense")).toBe(400);
      expect(await codeOf(`${from(token)}&resourceVersion=${resourceVersion}`)).toBe(400);
      expect(await codeOf(`${from(token)}&resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`)).toBe(422);
      expect(await codeOf(`${from(token)}&resourceVersion=0`)).toBe(200);
    });
  });
}
