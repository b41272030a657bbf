import { describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { aFailure, answerJson, openScriptedApi, type Script } from "../../test/support/fakes/scripted-api.ts";
import { aStored, openScriptedCollection } from "../../test/support/fakes/scripted-collection.ts";
import { AnswerTooLarge, ApiError, ApiUnreachable } from "./errors.ts";
import { listEverything, PageSize } from "./list-everything.ts";

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
  ])("is complete from a server that $server", async ({ pageSize, requests }) => {
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

describe("a list whose pages exceed the size limit", () => {
  const answerBytesMax = 256 * 1024;
  const text = "x".repeat(answerBytesMax / 40);
  const large = Array.from({ length: 600 }, (_, at) => {
    const object = aStored(`s${at}`, "1");
    return { ...object, metadata: { ...object.metadata, annotations: { text } } };
  });
  /** A page starts at its token, for any limit. */
  const pages: Script = ({ query }, response) => {
    const from = Number(query["continue"] ?? 0);
    const to = from + Number(query["limit"] ?? large.length);
    const more = to < large.length ? { continue: String(to) } : {};
    answerJson(response, 200, { metadata: { resourceVersion: "7", ...more }, items: large.slice(from, to) });
  };

  it("is complete, and read in smaller pages from then on", async () => {
    await using api = await openScriptedApi(pages, { answerBytesMax });
    const pageSize = new PageSize();
    const { items, resourceVersion } = await listEverything(api.client, podType, { pageSize }, never);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(large.map(({ metadata }) => metadata.name));
    expect(resourceVersion).toBe("7");
    expect(pageSize.objects).toBe(32);
    expect(api.received.slice(0, 6).map(({ query }) => query["limit"])).toEqual([
      "500",
      "250",
      "125",
      "63",
      "32",
      "32",
    ]);
    const asked = api.received.length;
    await listEverything(api.client, podType, { pageSize }, never);
    expect(api.received[asked]?.query["limit"]).toBe("32");
  });

  it("is read in smaller pages from then on also when it fails after its first page", async () => {
    let fails = true;
    const failing: Script = (received, response) =>
      fails && received.query["continue"] !== undefined
        ? answerJson(response, 500, aFailure(500, "InternalError"))
        : pages(received, response);
    await using api = await openScriptedApi(failing, { answerBytesMax });
    const pageSize = new PageSize();
    await expect(listEverything(api.client, podType, { pageSize }, never)).rejects.toThrow("InternalError");
    fails = false;
    const asked = api.received.length;
    expect((await listEverything(api.client, podType, { pageSize }, never)).items).toHaveLength(600);
    expect(api.received[asked]?.query["limit"]).toBe("32");
  });

  it("fails when its snapshot expires, and is not requested in one response", async () => {
    const forgetful: Script = (received, response) =>
      received.query["continue"] === undefined
        ? pages(received, response)
        : answerJson(response, 410, aFailure(410, "Expired"));
    await using api = await openScriptedApi(forgetful, { answerBytesMax });
    await expect(listEverything(api.client, podType, {}, never)).rejects.toThrow("Expired");
    expect(api.received.filter(({ query }) => query["limit"] === undefined)).toEqual([]);
  });

  it("fails where one object alone is too large", async () => {
    await using api = await openScriptedApi(pages, { answerBytesMax: text.length });
    await expect(listEverything(api.client, podType, {}, never)).rejects.toThrow(AnswerTooLarge);
    expect(api.received.at(-1)?.query["limit"]).toBe("1");
  });
});
