import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, hear, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const get = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";

async function openClient() {
  await using opened = new AsyncDisposableStack();
  const clock = new FakeClock();
  const backend = opened.use(await openBackend((socket) => socket.on("data", () => socket.write(ok))));
  const proxyPath = opened.use(await openProxyPath(backend.port, { clock, headersTimeoutMs: 10_000 }));
  const client: Socket = await dialled(proxyPath.port);
  opened.defer(() => void client.destroy());
  const heard = hear(client);
  await eventually(() => proxyPath.connections.open === 1);
  const closing = opened.move();
  return {
    ...{ clock, client, heard, proxyPath },
    /** Sends one byte of a head, and resolves once it was read. */
    async send(byte: string) {
      const before = proxyPath.unfinishedHeads.begun;
      client.write(byte);
      await eventually(() => proxyPath.unfinishedHeads.begun > before);
    },
    isOpen: () => proxyPath.connections.open === 1,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

it("the first head of a connection has one limit, from its beginning, however its bytes arrive", async () => {
  await using world = await openClient();
  for (const byte of ["\r", "\n", "G"]) {
    await world.clock.advance(3_300);
    await world.send(byte);
  }
  expect(world.isOpen()).toBe(true);
  await world.clock.advance(300);
  expect(await world.heard).toMatch(/^HTTP\/1.1 408 /);
});

it("a later head has one limit, from its first byte, however its bytes arrive", async () => {
  await using world = await openClient();
  world.client.write(get);
  await eventually(() => world.proxyPath.ends.length === 1);
  await world.clock.advance(59_000);
  await world.send("\r");
  for (const byte of ["\n", "G"]) {
    await world.clock.advance(4_900);
    await world.send(byte);
  }
  expect(world.isOpen()).toBe(true);
  await world.clock.advance(400);
  expect(await world.heard).toMatch(/^HTTP\/1.1 200 .*okHTTP\/1.1 408 /s);
});

it("an empty line before a later head does not prolong the idle limit beyond that of a head", async () => {
  await using world = await openClient();
  world.client.write(get);
  await eventually(() => world.proxyPath.ends.length === 1);
  await world.clock.advance(1_000);
  await world.send("\r\n");
  await world.clock.advance(10_100);
  expect(await world.heard).toMatch(/^HTTP\/1.1 200 .*ok$/s);
});
