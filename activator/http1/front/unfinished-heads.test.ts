import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, hear, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const beginning = `GET / HTTP/1.1\r\nHost: nova\r\nCookie: ${"c".repeat(12_000)}`;
/** Room for a few such heads. */
const unfinishedHeadBytesMax = 100_000;

async function openSmall() {
  await using opened = new AsyncDisposableStack();
  const backend = opened.use(await openBackend((socket) => socket.on("data", () => socket.write(ok))));
  const proxyPath = opened.use(await openProxyPath(backend.port, { unfinishedHeadBytesMax }));
  const clients: Socket[] = [];
  opened.defer(() => clients.forEach((client) => void client.destroy()));
  const closing = opened.move();
  return {
    proxyPath,
    /** A client whose head is read, but not finished. */
    async begin() {
      const client = await dialled(proxyPath.port);
      clients.push(client);
      const before = proxyPath.unfinishedHeads.begun;
      client.write(beginning);
      await eventually(() => proxyPath.unfinishedHeads.begun > before);
      return { client, heard: hear(client), finish: () => client.write("\r\nConnection: close\r\n\r\n") };
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe("heads that are not finished", () => {
  it("beyond their memory limit lose the oldest head, which gets status 408", async () => {
    await using world = await openSmall();
    const oldest = await world.begin();
    const others = [await world.begin()];
    while (others.length < 10 && world.proxyPath.unfinishedHeads.shed === 0) others.push(await world.begin());
    expect(world.proxyPath.unfinishedHeads.shed).toBe(1);
    expect(await oldest.heard).toMatch(/^HTTP\/1.1 408 /);
    for (const { finish } of others) finish();
    for (const { heard } of others) expect(await heard).toMatch(/^HTTP\/1.1 200 .*ok$/s);
    await world.proxyPath.empty();
  });

  it("free their memory when they finish, and when their clients leave", async () => {
    await using world = await openSmall();
    for (let round = 0; round < 5; round += 1) {
      const { heard, finish } = await world.begin();
      finish();
      expect(await heard).toMatch(/^HTTP\/1.1 200 /);
      const gone = await world.begin();
      gone.client.destroy();
    }
    await world.proxyPath.empty();
    expect(world.proxyPath.unfinishedHeads.shed).toBe(0);
  });
});
