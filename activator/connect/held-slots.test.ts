import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { answerOf, openHttp2Client } from "../../test/support/http2-client.ts";
import { type ActivatorWorld, heldRequests, openActivatorWorld } from "../../test/support/labs/activator-world.ts";
import { dialled, hear, say } from "../../test/support/proxy-path.ts";
import { HoldLimits } from "../hold/hold-limits.ts";

const authority = "nova.default.sandbox.localhost";
const head = (lines: string) => `POST / HTTP/1.1\r\nHost: ${authority}\r\n${lines}\r\n`;
const refusal = /HoldLimitReached/;

/** A suspended sandbox whose held requests have nine slots. */
async function openCrowd(): Promise<ActivatorWorld> {
  const world = await openActivatorWorld(["--domain=sandbox.localhost", "--http2", "--held-max-per-sandbox=9"]);
  await world.asleep("nova");
  return world;
}

it("slots grow with the bytes of a request while one is free, and all are given back", () => {
  const limits = new HoldLimits({ total: 100, perNamespace: 50, perSandbox: 10 });
  const slots = limits.lend("a", "x", 100);
  const other = limits.lend("a", "x");
  expect([slots.grow(8_092), limits.total]).toEqual([true, 2]);
  expect([slots.grow(1), limits.total]).toEqual([true, 3]);
  expect([slots.grow(65_536), limits.total]).toEqual([true, 11]);
  expect([slots.grow(8_192), other.grow(8_193), limits.total]).toEqual([false, false, 11]);
  slots[Symbol.dispose]();
  slots[Symbol.dispose]();
  expect([slots.grow(65_536), limits.total]).toEqual([true, 1]);
});

describe("a held request takes a slot for each 8 KiB", () => {
  it("of its body over HTTP/2, and is rejected if its body finds none", async () => {
    await using world = await openCrowd();
    using client = openHttp2Client(world.activator.proxyPort);
    const upload = () => client.open({ ":method": "POST", ":authority": authority });
    const uploads = [upload(), upload(), upload()];
    const rejected = Promise.race(uploads.map(answerOf));
    await eventually(async () => (await heldRequests(world)) === 3);
    for (const each of uploads) each.write(Buffer.alloc(60_000));
    const { status, fields } = await rejected;
    expect([status, fields.includes("HoldLimitReached")]).toEqual([503, true]);
    expect(await heldRequests(world)).toBeGreaterThan(0);
  });

  it("of its body over HTTP/1.1, and of the requests behind it", async () => {
    await using world = await openCrowd();
    const port = world.activator.proxyPort;
    const pipelined = head("").replace("POST", "GET") + head(`X-Notes: ${"n".repeat(14_000)}\r\n`);
    const held = [head("Content-Length: 14000\r\n") + "x".repeat(14_000), pipelined];
    const sockets = [];
    for (const text of [...held, ...held]) {
      const socket = await dialled(port);
      socket.write(text);
      sockets.push(socket);
      await eventually(async () => (await heldRequests(world)) === sockets.length);
    }
    const ninth = await dialled(port);
    ninth.write(head("").replace("POST", "GET"));
    await eventually(async () => (await heldRequests(world)) === 5);
    expect(await say(port, head("Connection: close\r\n"), "end")).toMatch(refusal);
    for (const socket of [...sockets, ninth]) socket.destroy();
    await eventually(async () => (await heldRequests(world)) === 0);
  });

  it("and is rejected over HTTP/1.1, too, if its body finds none", async () => {
    await using world = await openCrowd();
    const port = world.activator.proxyPort;
    const sockets = await Promise.all(Array.from({ length: 9 }, () => dialled(port)));
    for (const socket of sockets) socket.write(head("Content-Length: 14000\r\nConnection: close\r\n"));
    await eventually(async () => (await heldRequests(world)) === 9);
    const [first] = sockets;
    if (!first) throw new Error("no client");
    const heard = hear(first);
    first.write("x".repeat(14_000));
    expect(await heard).toMatch(refusal);
    for (const socket of sockets) socket.destroy();
  });
});
