import type { ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { expect, it, vi } from "vitest";
import { namespaceType, podType } from "../../api/kinds/core.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { answerJson, openScriptedApi } from "../../test/support/fakes/scripted-api.ts";
import { waiting } from "../../test/support/waiting.ts";
import { callConnections, type KubeClientOptions } from "./http-client.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));
const list = { metadata: { resourceVersion: "1" }, items: [] };

/** An API server that answers no call about a namespace whose name begins with "slow" until told to. */
async function given(options: Partial<KubeClientOptions> = {}) {
  const held: ServerResponse[] = [];
  const sockets = new Set<unknown>();
  const api = await openScriptedApi(({ path }, response) => {
    sockets.add(response.socket);
    if (path.includes("/slow")) held.push(response);
    else answerJson(response, 200, path.endsWith("/pods") || path.endsWith("/namespaces") ? list : { metadata: {} });
  }, options);
  const over = new AbortController();
  const asked: Promise<unknown>[] = [];
  return {
    client: api.client,
    held,
    sockets,
    /** Calls that hang; resolves once the server has as many as it gets. */
    async hang(namespace: string, count: number, reach: number) {
      const before = held.length;
      for (let at = 0; at < count; at += 1) {
        const name = { namespace, name: `p${at}` };
        const call = api.client.patch(podType, name, { type: "merge", body: {} }, {}, over.signal);
        asked.push(call.catch(() => {}));
      }
      await vi.waitFor(() => expect(held.length - before).toBe(reach), waiting);
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.all(asked);
      await api[Symbol.asyncDispose]();
    },
  };
}

it("a namespace whose calls hang has the connections of one namespace, and all others are served", async () => {
  await using lab = await given();
  await lab.hang("slow", 150, callConnections);
  const good = { namespace: "good", name: "nova" };
  await lab.client.get(podType, good);
  await lab.client.patch(podType, good, { type: "merge", body: {} });
  await lab.client.list(podType, { namespace: "good" });
  await lab.client.list(podType);
  await lab.client.list(namespaceType);
  await lab.hang("slow-too", 150, 4);
  await lab.client.get(podType, good);
  expect(lab.held).toHaveLength(callConnections + 4);
});

it("a crowd of one namespace opens no more connections than one namespace may have", async () => {
  await using lab = await given();
  const calls = Array.from({ length: 300 }, (_, at) =>
    lab.client.patch(podType, { namespace: "crowd", name: `p${at}` }, { type: "merge", body: {} }),
  );
  await Promise.all(calls);
  expect(lab.sockets.size).toBe(callConnections);
});

it("a call that waits for a connection ends with its signal or after 30 seconds, and is counted", async () => {
  const clock = new FakeClock();
  const registry = new Registry();
  await using lab = await given({ clock, registry, connections: 1 });
  await lab.hang("slow", 1, 1);
  const stop = new AbortController();
  const stopped = lab.client.get(podType, { namespace: "slow", name: "stopped" }, stop.signal);
  await settled();
  stop.abort(new Error("no longer wanted"));
  await expect(stopped).rejects.toThrow("no longer wanted");
  const waits = lab.client.get(podType, { namespace: "slow", name: "waits" });
  const ended = expect(waits).rejects.toThrow("no response within 30 s");
  await clock.advance(30_000);
  await ended;
  expect(await registry.metrics()).toMatch(/rest_client_requests_total\{method="GET",code="<error>",host="[^"]*"\} 2/);
});

it("a call that waits for a connection is not sent if it may not be any more", async () => {
  await using lab = await given({ connections: 1 });
  let mayCall = true;
  const checking = lab.client.checking(() => {
    if (!mayCall) throw new Error("the lease is over");
  });
  await lab.hang("slow", 1, 1);
  const waits = checking.get(podType, { namespace: "slow", name: "waits" });
  mayCall = false;
  for (const response of [...lab.held]) answerJson(response, 200, { metadata: {} });
  await expect(waits).rejects.toThrow("the lease is over");
  expect(lab.held).toHaveLength(1);
});
