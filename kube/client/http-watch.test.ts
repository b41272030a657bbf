import { describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { aFailure, answerJson, openScriptedApi } from "../../test/support/fakes/scripted-api.ts";
import { ApiError, ApiUnreachable, isExpired } from "./errors.ts";

const nova = { namespace: "team", name: "nova" };
const aPod = { metadata: nova };
const never = new AbortController().signal;

describe("a watch", () => {
  const line = `${JSON.stringify({ type: "ADDED", object: aPod })}\n`;

  it("asks from a version on and ends when the server ends it", async () => {
    await using api = await openScriptedApi((_, response) => response.end(line));
    const options = { namespace: "team", resourceVersion: "7", timeoutSeconds: 300, allowBookmarks: true };
    expect(await Array.fromAsync(api.client.watch(podType, options, never))).toEqual([JSON.parse(line)]);
    expect(api.received).toMatchObject([
      {
        path: "/api/v1/namespaces/team/pods",
        query: { watch: "true", resourceVersion: "7", timeoutSeconds: "300", allowWatchBookmarks: "true" },
      },
    ]);
  });

  it("is unreachable when its connection breaks, after the events before that", async () => {
    await using api = await openScriptedApi((_, response) => response.write(line, () => response.destroy()));
    const events = api.client.watch(podType, { resourceVersion: "7" }, never)[Symbol.asyncIterator]();
    expect(await events.next()).toMatchObject({ done: false });
    await expect(events.next()).rejects.toThrow(ApiUnreachable);
  });

  it("rejects with the server's Status when the version is too old", async () => {
    await using api = await openScriptedApi((_, response) => answerJson(response, 410, aFailure(410, "Expired")));
    const events = api.client.watch(podType, { resourceVersion: "1" }, never);
    const error = await Array.fromAsync(events).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(ApiError);
    expect(isExpired(error)).toBe(true);
  });

  it("rejects with the signal's reason, and closes its connection", async () => {
    const closed = Promise.withResolvers<void>();
    await using api = await openScriptedApi((_, response) => void response.on("close", closed.resolve).write(line));
    const stop = new AbortController();
    const events = api.client.watch(podType, { resourceVersion: "7" }, stop.signal)[Symbol.asyncIterator]();
    await events.next();
    const reason = new Error("changed my mind");
    stop.abort(reason);
    await expect(events.next()).rejects.toBe(reason);
    await closed.promise;
  });

  it("closes its connection when its reader stops", async () => {
    const closed = Promise.withResolvers<void>();
    await using api = await openScriptedApi((_, response) => void response.on("close", closed.resolve).write(line));
    for await (const _ of api.client.watch(podType, { resourceVersion: "7" }, never)) break;
    await closed.promise;
  });

  it("takes no connection from calls, however many there are", async () => {
    await using api = await openScriptedApi(
      ({ query }, response) => (query["watch"] ? response.write(line) : answerJson(response, 200, aPod)),
      { connections: 1 },
    );
    const watches = Array.from({ length: 5 }, () =>
      api.client.watch(podType, { resourceVersion: "7" }, never)[Symbol.asyncIterator](),
    );
    await Promise.all(watches.map((watch) => watch.next()));
    expect(await api.client.get(podType, nova)).toEqual(aPod);
  });
});
