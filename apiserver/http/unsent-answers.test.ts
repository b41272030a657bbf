import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";

const path = "/api/v1/namespaces/default/configmaps";

it("large answers that no client reads are bounded in sum and time; small ones are sent meanwhile", async () => {
  const clock = new FakeClock();
  await using api = await openMemoryApi({ clock });
  const metadata = (name: string) => ({ namespace: "default", name });
  for (let number = 0; number < 8; number += 1) {
    await api.client.create(configMapType, { metadata: metadata(`c${number}`), data: { a: "x".repeat(1_000_000) } });
  }
  const { host, hostname, port } = new URL(api.url);
  await using sockets = new AsyncDisposableStack();
  const unread = Array.from({ length: 50 }, () => {
    const socket = connect({ host: hostname, port: Number(port) }).pause();
    sockets.defer(() => void socket.destroy());
    socket.on("error", () => {}).write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    return once(socket, "connect");
  });
  await Promise.all(unread);
  await eventually(async () => (await fetch(api.url + path)).status === 429);
  expect((await fetch(`${api.url}${path}/absent`)).status).toBe(404);
  expect((await fetch(`${api.url}${path}?fieldSelector=metadata.name%3Dabsent`)).status).toBe(200);
  await clock.advance(61_000);
  await eventually(async () => (await fetch(api.url + path)).status === 200);
});

/** An API server without room for another large answer, because a client does not read its list of 16 MB. */
async function openWithoutRoom() {
  await using stack = new AsyncDisposableStack();
  const api = stack.use(await openMemoryApi({ maxUnsentBytes: 16_500_000 }));
  for (let number = 0; number < 16; number += 1) {
    const metadata = { namespace: "default", name: `c${number}`, finalizers: ["rouse.dev/wait"] };
    await api.client.create(configMapType, { metadata, data: { a: "x".repeat(1_000_000) } });
  }
  const { host, hostname, port } = new URL(api.url);
  const socket = connect({ host: hostname, port: Number(port) }).pause();
  stack.defer(() => void socket.destroy());
  socket.on("error", () => {}).write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await eventually(async () => (await fetch(`${api.url}${path}/c0`)).status === 429);
  const ask = (method: string, at: string, body?: unknown, type = "application/json") =>
    fetch(api.url + path + at, {
      method,
      headers: { "content-type": type },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const owned = stack.move();
  return { ask, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

it("a write whose answer has no room is refused before it is stored", async () => {
  await using api = await openWithoutRoom();
  const large = { metadata: { name: "large" }, data: { a: "x".repeat(1_000_000) } };
  expect((await api.ask("POST", "", large)).status).toBe(429);
  expect((await api.ask("GET", "/large")).status).toBe(404);
  const merge = "application/merge-patch+json";
  expect((await api.ask("PATCH", "/c0", { metadata: { labels: { a: "b" } } }, merge)).status).toBe(429);
  expect((await api.ask("DELETE", "/c0")).status).toBe(429);
  expect((await api.ask("DELETE", "?fieldSelector=metadata.name%3Dc0")).status).toBe(429);
  const small = { metadata: { name: "c0", labels: null, finalizers: null }, data: null };
  const { metadata } = (await (await api.ask("PATCH", "/c0", small, merge)).json()) as KubeObject;
  expect([metadata.labels, metadata.deletionTimestamp]).toEqual([undefined, undefined]);
  expect((await api.ask("DELETE", "/c0")).status).toBe(200);
});

it("a write whose client accepts no form of the answer is refused before it is stored", async () => {
  await using api = await openMemoryApi();
  const body = JSON.stringify({ metadata: { name: "a" } });
  const headers = { "content-type": "application/json", accept: "text/html" };
  expect((await fetch(api.url + path, { method: "POST", headers, body })).status).toBe(406);
  expect((await fetch(`${api.url}${path}/a`)).status).toBe(404);
});

it("aliases of YAML cannot make a large object of a small body", async () => {
  await using api = await openMemoryApi();
  const lines = Array.from({ length: 90 }, (_, number) => `  k${number}: *a`);
  const body = `metadata: {name: a}\ndata:\n  k: &a ${"x".repeat(100_000)}\n${lines.join("\n")}\n`;
  const headers = { "content-type": "application/yaml" };
  const response = await fetch(`${api.url}${path}?dryRun=All`, { method: "POST", headers, body });
  expect(response.status).toBe(413);
});
