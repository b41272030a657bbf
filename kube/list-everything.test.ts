import { describe, expect, it } from "vitest";
import { podType } from "../api/core.ts";
import { aFailure, answerJson, openScriptedApi } from "../test/support/scripted-api.ts";
import { aStored, openScriptedCollection } from "../test/support/scripted-collection.ts";
import { ApiError, ApiUnreachable } from "./errors.ts";
import { listEverything } from "./list-everything.ts";

const never = new AbortController().signal;
const some = ["a", "b", "c", "d", "e"].map((name) => aStored(name, "1"));

async function openPods(pageSize?: number) {
  const pods = await openScriptedCollection();
  pods.items = some;
  pods.version = "7";
  pods.pageSize = pageSize;
  return pods;
}

describe("a list of everything", () => {
  it.each([
    { server: "has pages", pageSize: 2, requests: 3 },
    { server: "ignores limits", pageSize: undefined, requests: 1 },
  ])("is whole from a server that $server", async ({ pageSize, requests }) => {
    await using pods = await openPods(pageSize);
    const { items, resourceVersion } = await listEverything(pods.client, podType, { namespace: "team" }, never);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c", "d", "e"]);
    expect(resourceVersion).toBe("7");
    expect(pods.lists).toHaveLength(requests);
    expect(pods.lists[0]?.query["limit"]).toBe("500");
  });

  it("is read once more in one answer when the server forgets the snapshot between two pages", async () => {
    await using pods = await openPods(2);
    pods.continueFailure = aFailure(410, "Expired");
    const { items } = await listEverything(pods.client, podType, {}, never);
    expect(items).toHaveLength(5);
    expect(pods.lists).toHaveLength(3);
    expect(pods.lists[2]?.query).not.toHaveProperty("limit");
  });

  it("fails as a page fails for any other reason", async () => {
    await using pods = await openPods(2);
    pods.continueFailure = aFailure(500, "InternalError");
    await expect(listEverything(pods.client, podType, {}, never)).rejects.toThrow(ApiError);
  });

  it("fails when the server gives the same page for ever", async () => {
    const page = { metadata: { resourceVersion: "7", continue: "more" }, items: some };
    await using api = await openScriptedApi((_, response) => answerJson(response, 200, page));
    await expect(listEverything(api.client, podType, {}, never)).rejects.toThrow(ApiUnreachable);
  });
});
