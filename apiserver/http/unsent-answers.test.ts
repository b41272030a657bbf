import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
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

it("aliases of YAML cannot make a large object of a small body", async () => {
  await using api = await openMemoryApi();
  const lines = Array.from({ length: 90 }, (_, number) => `  k${number}: *a`);
  const body = `metadata: {name: a}\ndata:\n  k: &a ${"x".repeat(100_000)}\n${lines.join("\n")}\n`;
  const headers = { "content-type": "application/yaml" };
  const response = await fetch(`${api.url}${path}?dryRun=All`, { method: "POST", headers, body });
  expect(response.status).toBe(413);
});
