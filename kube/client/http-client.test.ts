import type { ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { describe, expect, it, vi } from "vitest";
import { leaseType, podType } from "../../api/kinds/core.ts";
import { subjectAccessReviewType, tokenReviewType } from "../../api/kinds/reviews.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { aFailure, answerJson, openScriptedApi } from "../../test/support/fakes/scripted-api.ts";
import { waiting } from "../../test/support/waiting.ts";
import type { Patch } from "./client.ts";
import { connectionFor } from "./connection.ts";
import { ApiUnreachable, isConflict, isNotFound, mayPass, NotEncodable, NotServed } from "./errors.ts";
import { createKubeClient, reviewConnections } from "./http-client.ts";

const nova = { namespace: "team", name: "nova" };
const aPod = { metadata: nova };
const resourceAttributes = { group: "", resource: "pods", subresource: "", verb: "get", ...nova };

describe("after a suspension of the machine", () => {
  it("calls use new connections, and a response in progress ends as usual", async () => {
    const clock = new FakeClock();
    const ports: unknown[] = [];
    const slow = Promise.withResolvers<void>();
    await using api = await openScriptedApi(
      (_, response) => {
        ports.push(response.socket?.remotePort);
        const answer = () => answerJson(response, 200, aPod);
        if (ports.length === 3) void slow.promise.then(answer);
        else answer();
      },
      { clock },
    );
    const ask = () => api.client.get(podType, nova);
    await ask();
    await ask();
    const inProgress = ask();
    await eventually(() => ports.length === 3);
    clock.jumpWall(60_000); // monotonic time stood still
    await ask();
    await ask();
    slow.resolve();
    expect(await inProgress).toEqual(aPod);
    expect(ports).toHaveLength(5);
    expect(ports.slice(3).filter((port) => ports.slice(0, 3).includes(port))).toEqual([]);
  });
});

describe("a call", () => {
  it("has a user agent, an Accept header and credentials", async () => {
    await using api = await openScriptedApi((_, response) => answerJson(response, 200, aPod), { token: "s3cret" });
    expect(await api.client.get(podType, nova)).toEqual(aPod);
    expect(api.received).toMatchObject([
      {
        method: "GET",
        path: "/api/v1/namespaces/team/pods/nova",
        headers: { accept: "application/json", "user-agent": "rouse-test", authorization: "Bearer s3cret" },
      },
    ]);
  });

  it("goes below the path of the server's URL", async () => {
    await using api = await openScriptedApi((_, response) => answerJson(response, 200, aPod), {
      path: "/clusters/c1/",
    });
    await api.client.get(sandboxType, nova);
    expect(api.received[0]?.path).toBe("/clusters/c1/apis/agents.x-k8s.io/v1beta1/namespaces/team/sandboxes/nova");
  });

  it.each<{ patch: Patch; contentType: string }>([
    { patch: { type: "merge", body: { a: 1 } }, contentType: "application/merge-patch+json" },
    { patch: { type: "json", body: [{ op: "test" }] }, contentType: "application/json-patch+json" },
    { patch: { type: "strategic", body: { a: 1 } }, contentType: "application/strategic-merge-patch+json" },
  ])("sends a $patch.type patch as $contentType", async ({ patch, contentType }) => {
    await using api = await openScriptedApi((_, response) => answerJson(response, 200, aPod));
    await api.client.patch(podType, nova, patch, { subresource: "status", fieldManager: "rouse" });
    expect(api.received).toMatchObject([
      {
        method: "PATCH",
        path: "/api/v1/namespaces/team/pods/nova/status",
        query: { fieldManager: "rouse" },
        headers: { "content-type": contentType },
        body: patch.body,
      },
    ]);
  });

  it("creates by POST to the collection and replaces by PUT to the object", async () => {
    await using api = await openScriptedApi((_, response) => answerJson(response, 200, aPod));
    await api.client.create(podType, aPod);
    await api.client.replace(podType, aPod, { subresource: "status" });
    expect(api.received).toMatchObject([
      { method: "POST", path: "/api/v1/namespaces/team/pods", body: aPod },
      { method: "PUT", path: "/api/v1/namespaces/team/pods/nova/status", body: aPod },
    ]);
  });

  it("asks for a dry run of all steps, or of none", async () => {
    await using api = await openScriptedApi((_, response) => answerJson(response, 200, aPod));
    await api.client.create(podType, aPod, { fieldManager: "rouse", dryRun: true });
    await api.client.create(podType, aPod, { fieldManager: "rouse", dryRun: false });
    expect(api.received.map(({ query }) => query)).toEqual([
      { fieldManager: "rouse", dryRun: "All" },
      { fieldManager: "rouse" },
    ]);
  });

  it("deletes with its preconditions in DeleteOptions", async () => {
    await using api = await openScriptedApi((_, response) => answerJson(response, 200, { kind: "Status" }));
    await api.client.delete(podType, nova, { preconditions: { uid: "u1" }, gracePeriodSeconds: 3 });
    expect(api.received).toMatchObject([
      {
        method: "DELETE",
        body: { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: "u1" }, gracePeriodSeconds: 3 },
      },
    ]);
  });

  it("lists with the selection as its query and gives each item its type", async () => {
    const list = { metadata: { resourceVersion: "9" }, items: [aPod] };
    await using api = await openScriptedApi((_, response) => answerJson(response, 200, list));
    const found = await api.client.list(podType, { namespace: "team", labelSelector: "a=b,c", limit: 5 });
    expect(found.items).toEqual([{ apiVersion: "v1", kind: "Pod", ...aPod }]);
    expect(api.received).toMatchObject([
      { path: "/api/v1/namespaces/team/pods", query: { labelSelector: "a=b,c", limit: "5" } },
    ]);
  });

  it("reads an empty list whose items are null", async () => {
    const list = { metadata: { resourceVersion: "9" }, items: null };
    await using api = await openScriptedApi((_, response) => answerJson(response, 200, list));
    expect((await api.client.list(podType)).items).toEqual([]);
  });
});

describe("a call that fails", () => {
  it("rejects with the server's Status", async () => {
    const failure = aFailure(409, "Conflict", "the object has been modified");
    await using api = await openScriptedApi((_, response) => answerJson(response, 409, failure));
    const error = await api.client.replace(podType, aPod).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 409, reason: "Conflict", message: "the object has been modified" });
    expect(isConflict(error)).toBe(true);
  });

  it.each([
    { what: "a page of a proxy", code: 502, body: "<html>" },
    { what: "a failure that is no Status", code: 404, body: '{"error":"?"}' },
    { what: "a redirect", code: 302, body: "{}" },
    { what: "success that does not parse", code: 200, body: '{"metadata":' },
  ])("is unreachable if the response is $what", async ({ code, body }) => {
    await using api = await openScriptedApi((_, response) => response.writeHead(code).end(body));
    await expect(api.client.get(podType, nova)).rejects.toThrow(ApiUnreachable);
  });

  it("tells its connection when the server has refused its credentials", async () => {
    await using api = await openScriptedApi((_, response) => answerJson(response, 401, aFailure(401, "Unauthorized")));
    let refusals = 0;
    const connection = {
      ...connectionFor({ server: api.url }),
      refused: () => {
        refusals += 1;
      },
    };
    await using client = createKubeClient(connection, { userAgent: "rouse-test" });
    await expect(client.get(podType, nova)).rejects.toThrow();
    expect(refusals).toBe(1);
  });

  it("does not take a kind that is not served for a missing object", async () => {
    await using api = await openScriptedApi((_, response) => response.writeHead(404).end("404 page not found\n"));
    const error = await api.client.get(podType, nova).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(NotServed);
    expect(isNotFound(error)).toBe(false);
  });

  it("is unreachable when the connection breaks in the middle of the answer", async () => {
    await using api = await openScriptedApi((_, response) => {
      response.writeHead(200, { "content-length": 100 }).write("{", () => response.destroy());
    });
    await expect(api.client.get(podType, nova)).rejects.toThrow(ApiUnreachable);
  });

  it("is not sent, and no failure of the server, if its object is nested too deeply to be encoded", async () => {
    await using api = await openScriptedApi((_, response) => answerJson(response, 200, aPod));
    let deep: unknown = [];
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    const patch: Patch = { type: "merge", body: { spec: deep } };
    const failure = await api.client.patch(podType, nova, patch).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(NotEncodable);
    expect(mayPass(failure)).toBe(false);
    expect(api.received).toEqual([]);
  });

  it("is unreachable without a listener", async () => {
    const api = await openScriptedApi(() => {});
    await api[Symbol.asyncDispose]();
    await using client = createKubeClient(connectionFor({ server: api.url }), { userAgent: "rouse-test" });
    await expect(client.get(podType, nova)).rejects.toThrow(ApiUnreachable);
  });

  it("rejects with the signal's reason, whether aborted before or while it waits", async () => {
    await using api = await openScriptedApi(() => {});
    const reason = new Error("changed my mind");
    await expect(api.client.get(podType, nova, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(api.received).toEqual([]);

    const stop = new AbortController();
    const call = api.client.get(podType, nova, stop.signal);
    await vi.waitFor(() => expect(api.received).toHaveLength(1), waiting);
    stop.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it("ends after 30 seconds when the response has begun and never ends", async () => {
    const clock = new FakeClock();
    const begun = Promise.withResolvers<void>();
    await using api = await openScriptedApi(
      (_, response) => response.writeHead(200, { "content-length": 100 }).write("{", () => begun.resolve()),
      { clock },
    );
    const call = api.client.get(podType, nova).catch((cause: unknown) => cause);
    await begun.promise;
    await clock.advance(29_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(await call).toBeInstanceOf(ApiUnreachable);
  });

  it("ends after 30 seconds without an answer", async () => {
    const clock = new FakeClock();
    await using api = await openScriptedApi(() => {}, { clock });
    const call = api.client.get(podType, nova).catch((cause: unknown) => cause);
    await vi.waitFor(() => expect(api.received).toHaveLength(1), waiting);
    await clock.advance(30_000);
    expect(await call).toBeInstanceOf(ApiUnreachable);
    expect(clock.pending).toBe(0);
  });

  it("is broken off when the client is disposed of", async () => {
    await using api = await openScriptedApi(() => {});
    const call = api.client.get(podType, nova).catch((cause: unknown) => cause);
    await vi.waitFor(() => expect(api.received).toHaveLength(1), waiting);
    await api.client[Symbol.asyncDispose]();
    expect(await call).toBeInstanceOf(ApiUnreachable);
  });
});

describe("a server that is too busy", () => {
  const busy = (retryAfter: string) => (response: ServerResponse) =>
    response.writeHead(429, { "retry-after": retryAfter }).end("Too many requests");

  it("is retried after its Retry-After", async () => {
    const clock = new FakeClock();
    await using api = await openScriptedApi(
      (_, response) => (api.received.length === 1 ? busy("3")(response) : answerJson(response, 200, aPod)),
      { clock },
    );
    const call = api.client.get(podType, nova);
    await vi.waitFor(() => expect(clock.pending).toBe(2), waiting); // the limit of the call, and the wait
    await clock.advance(2_999);
    expect(api.received).toHaveLength(1);
    await clock.advance(1);
    expect(await call).toEqual(aPod);
  });

  it("is not asked again for who may not call any more, as for a leader whose lease is over", async () => {
    const clock = new FakeClock();
    await using api = await openScriptedApi((_, response) => busy("3")(response), { clock });
    await using client = createKubeClient(connectionFor({ server: api.url }), { userAgent: "rouse-test", clock });
    let isOver = false;
    const checked = client.checking(() => {
      if (isOver) throw new Error("the lease is over");
    });
    const call = checked.get(podType, nova);
    call.catch(() => {});
    await vi.waitFor(() => expect(clock.pending).toBe(2), waiting);
    isOver = true;
    await clock.advance(3_000);
    await expect(call).rejects.toThrow("the lease is over");
    expect(api.received).toHaveLength(1);
  });

  it("gets at most five attempts", async () => {
    await using api = await openScriptedApi((_, response) => busy("0")(response));
    await expect(api.client.get(podType, nova)).rejects.toThrow(ApiUnreachable);
    expect(api.received).toHaveLength(5);
  });

  it.each(["11", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"])("is not waited for when it says %s", async (retryAfter) => {
    await using api = await openScriptedApi((_, response) => busy(retryAfter)(response));
    await expect(api.client.get(podType, nova)).rejects.toThrow(ApiUnreachable);
    expect(api.received).toHaveLength(1);
  });

  it("gets no retry of a creation", async () => {
    await using api = await openScriptedApi((_, response) => busy("0")(response));
    await expect(api.client.create(podType, aPod)).rejects.toThrow(ApiUnreachable);
    expect(api.received).toHaveLength(1);
  });
});

it("requests are counted by code, method and host, those without an answer too", async () => {
  const registry = new Registry();
  await using api = await openScriptedApi(
    ({ method }, response) =>
      method === "GET" ? answerJson(response, 404, aFailure(404, "NotFound")) : response.destroy(),
    { registry },
  );
  await api.client.get(podType, nova).catch(() => {});
  await api.client.create(podType, aPod).catch(() => {});
  const lines = await registry.metrics();
  const host = /host="(127\.0\.0\.1:\d+)"/.exec(lines)?.[1];
  expect(lines).toContain(`rest_client_requests_total{method="GET",code="404",host="${host}"} 1`);
  expect(lines).toContain(`rest_client_requests_total{method="POST",code="<error>",host="${host}"} 1`);
});

it("the most reviews that an activator has in flight delay no other call", async () => {
  const held: ServerResponse[] = [];
  await using api = await openScriptedApi(({ path }, response) => {
    if (path.endsWith("reviews")) held.push(response);
    else answerJson(response, 200, aPod);
  });
  const over = new AbortController();
  const reviews = Array.from({ length: reviewConnections }, (_, index) =>
    index % 2 === 0
      ? api.client.create(tokenReviewType, { metadata: {}, spec: { token: `t${index}` } }, {}, over.signal)
      : api.client.create(subjectAccessReviewType, { metadata: {}, spec: { resourceAttributes } }, {}, over.signal),
  );
  const ended = Promise.allSettled(reviews);
  expect(await api.client.patch(podType, nova, { type: "merge", body: {} })).toEqual(aPod);
  await vi.waitFor(() => expect(held).toHaveLength(reviews.length), waiting);
  expect(await api.client.get(podType, nova)).toEqual(aPod);
  over.abort();
  await ended;
});

it("calls keep to the configured rate; a leader's Lease calls have their own client and are not delayed", async () => {
  const clock = new FakeClock();
  const rate = { perSecond: 2, burst: 1 };
  await using api = await openScriptedApi((_, response) => answerJson(response, 200, aPod), { clock, rate });
  await api.client.get(podType, nova);
  const second = api.client.get(podType, nova);
  await using leaseClient = createKubeClient(connectionFor({ server: api.url }), { userAgent: "rouse-test", clock });
  await leaseClient.get(leaseType, nova);
  expect(api.received.map(({ path }) => path.split("/").at(-2))).toEqual(["pods", "leases"]);
  await clock.advance(500);
  await second;
  expect(api.received).toHaveLength(3);
  const stop = new AbortController();
  const third = api.client.get(podType, nova, stop.signal);
  stop.abort(new Error("stopping"));
  await expect(third).rejects.toThrow("stopping");
});
