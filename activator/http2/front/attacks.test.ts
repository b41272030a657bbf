import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { openHttp2Client } from "../../../test/support/http2-client.ts";
import {
  codeOf,
  type FrameClient,
  flag,
  frame,
  frameOf,
  getFields,
  headersOf,
  numberOf,
  openFrameClient,
  settingsOf,
  uint32,
} from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath, openStrictBackend, type ProxyPath } from "../../../test/support/proxy-path.ts";
import { streamsPerConnection } from "./session-options.ts";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const megabyte = 1_048_576;

/** Another client is served at once while the attack goes on, and after it. */
async function othersAreServed(proxyPath: ProxyPath): Promise<void> {
  using other = openHttp2Client(proxyPath.port);
  expect(await other.ask()).toMatchObject({ status: 200, body: "hello" });
}

async function attack(run: (client: FrameClient, proxyPath: ProxyPath) => Promise<void> | void): Promise<ProxyPath> {
  await using backend = await openStrictBackend(ok);
  await using proxyPath = await openProxyPath(backend.port);
  {
    using client = await openFrameClient(proxyPath.port);
    await run(client, proxyPath);
    await othersAreServed(proxyPath);
  }
  await proxyPath.empty();
  return proxyPath;
}

const isGoaway = ({ type }: { readonly type: number }) => type === frame.goaway;

describe("a client of HTTP/2", () => {
  it("that opens streams and resets them at once is cut off, and counted", async () => {
    const { offences } = await attack(async (client) => {
      for (let at = 0; at < 40; at += 1) {
        const frames = Array.from({ length: 100 }, (_, index) => {
          const stream = 2 * (at * 100 + index) + 1;
          return [headersOf(stream, getFields()), frameOf({ type: frame.reset, stream }, uint32(8))];
        });
        client.send(...frames.flat());
      }
      await client.closed;
    });
    expect(offences).toHaveLength(1);
  }, 60_000);

  it.each([
    { name: "PING", frames: () => Array.from({ length: 100 }, () => frameOf({ type: frame.ping }, Buffer.alloc(8))) },
    { name: "SETTINGS", frames: () => Array.from({ length: 100 }, () => settingsOf([3, 100])) },
  ])("that floods with $name is cut off, and counted", async ({ frames }) => {
    const { offences } = await attack(async (client) => {
      for (let at = 0; at < 50; at += 1) client.send(...frames());
      await client.closed;
    });
    expect(offences).toEqual(["flood"]);
  });

  it("that moves the windows of a hundred streams again and again is cut off sooner", async () => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port);
    {
      using client = await openFrameClient(proxyPath.port);
      for (let at = 0; at < 100; at += 1) client.send(headersOf(2 * at + 1, getFields()));
      await eventually(() => proxyPath.http2.active === 100);
      const isAck = ({ type, flags }: { type: number; flags: number }) => type === frame.settings && flags === flag.ack;
      const acks = () => client.frames.filter(isAck).length;
      // Each counts as 13 frames, of 10,000 at once. Some 1,000 more are allowed in each tenth of a second.
      for (let sent = 0; sent < 5_000 && !client.socket.destroyed; sent += 100) {
        client.send(...Array.from({ length: 100 }, (_, at) => settingsOf([4, at % 2])));
        await eventually(() => client.socket.destroyed || acks() > sent);
      }
      await client.closed;
      expect(acks()).toBeLessThan(4_000);
    }
    await proxyPath.empty();
    expect(proxyPath.offences).toEqual(["flood"]);
  });

  it("that floods with GOAWAY while a stream is open is cut off, and counted", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port);
    {
      using client = await openFrameClient(proxyPath.port, [settingsOf([4, 0])]);
      client.send(headersOf(1, getFields()));
      await client.until(({ type }) => type === frame.headers);
      const one = frameOf({ type: frame.goaway }, Buffer.concat([uint32(0), uint32(0)]));
      for (let at = 0; at < 30 && !client.socket.destroyed; at += 1) {
        client.send(...Array.from({ length: 1_000 }, () => one));
      }
      await client.closed;
      await othersAreServed(proxyPath);
    }
    await proxyPath.empty();
    expect(proxyPath.offences).toEqual(["flood"]);
  });

  it("that floods with empty DATA frames is cut off, and counted", async () => {
    const { offences } = await attack(async (client) => {
      client.send(headersOf(1, [...getFields(), ["x-a", "1"]], flag.endHeaders));
      for (let at = 0; at < 50; at += 1) {
        client.send(...Array.from({ length: 100 }, () => frameOf({ type: frame.data, stream: 1 })));
      }
      await client.closed;
    });
    expect(offences).toHaveLength(1);
  });

  it("that never ends its fields in CONTINUATION frames is cut off, and counted", async () => {
    const { offences } = await attack(async (client) => {
      client.send(headersOf(1, getFields(), 0));
      for (let at = 0; at < 5_000 && !client.socket.destroyed; at += 1) {
        client.send(frameOf({ type: frame.continuation, stream: 1 }, Buffer.alloc(0)));
      }
      await client.closed;
    });
    expect(offences).toHaveLength(1);
  });

  it("that sends many frames which the protocol forbids is cut off, and counted", async () => {
    const { offences } = await attack(async (client) => {
      for (let stream = 1; stream < 2_000; stream += 2) {
        client.send(headersOf(stream, [...getFields(), ["connection", "close"]]));
      }
      await client.closed;
    });
    expect(offences).toHaveLength(1);
  });

  it("gets no more memory for fields that it names a thousand times in a few bytes", async () => {
    const before = process.memoryUsage().rss;
    await attack(async (client) => {
      // One field of 4,000 bytes enters the table; each byte behind it names that field again.
      const large = Buffer.concat([
        Buffer.from([0x40]),
        numberOf(1, 7),
        Buffer.from("x"),
        numberOf(4_000, 7),
        Buffer.alloc(4_000, 97),
      ]);
      const [fields, again] = [headersOf(1, getFields()).subarray(9), Buffer.alloc(10_000, 0xbe)];
      for (let stream = 1; stream < 200 && !client.socket.destroyed; stream += 2) {
        const block = Buffer.concat([fields, stream === 1 ? large : Buffer.alloc(0), again]);
        client.send(frameOf({ type: frame.headers, flags: flag.endHeaders | flag.endStream, stream }, block));
      }
      await client.until((seen) => seen.type === frame.reset || isGoaway(seen));
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * megabyte);
  });

  it("may not open more streams at a time than it was told", async () => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port);
    {
      using client = await openFrameClient(proxyPath.port);
      const refused = () => client.frames.filter((seen) => seen.type === frame.reset && codeOf(seen) === 7).length;
      for (let at = 0; at < streamsPerConnection + 50; at += 1) client.send(headersOf(2 * at + 1, getFields()));
      await eventually(() => refused() === 50 && proxyPath.http2.active === streamsPerConnection);
    }
    await proxyPath.empty();
  });

  it("is refused streams while those that wait for their turn have too much memory, and others are not", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port);
    {
      await using opened = new AsyncDisposableStack();
      const clients = await Promise.all([1, 2, 3, 4, 5].map(() => openFrameClient(proxyPath.port)));
      for (const client of clients) opened.use(client);
      // One field of 4,000 bytes enters the table; each byte behind it names that field again.
      const fields = headersOf(1, getFields()).subarray(9);
      const large = Buffer.concat([
        Buffer.from([0x40, 1]),
        Buffer.from("x"),
        numberOf(4_000, 7),
        Buffer.alloc(4_000, 97),
      ]);
      const heads = Array.from({ length: 120 }, (_, at) => {
        const block = Buffer.concat([fields, at === 0 ? large : Buffer.alloc(0), Buffer.alloc(30, 0xbe)]);
        return frameOf({ type: frame.headers, flags: flag.endHeaders | flag.endStream, stream: 2 * at + 1 }, block);
      });
      for (const client of clients) client.send(...heads);
      const seen = () => clients.flatMap(({ frames }) => frames);
      await othersAreServed(proxyPath);
      await eventually(
        () => seen().filter((at) => at.type === frame.headers || at.type === frame.reset).length === 600,
      );
      const codes = seen()
        .filter((at) => at.type === frame.reset)
        .map(codeOf);
      expect(codes.length).toBeGreaterThan(20);
      expect(new Set(codes)).toEqual(new Set([7]));
    }
    await proxyPath.empty();
  });

  it("is refused streams when all connections have too many, and is told that they were not served", async () => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port, { maxConnections: 3 });
    {
      using one = await openFrameClient(proxyPath.port);
      using two = await openFrameClient(proxyPath.port);
      one.send(headersOf(1, getFields()), headersOf(3, getFields()));
      await eventually(() => proxyPath.http2.active === 2);
      two.send(headersOf(1, getFields()), headersOf(3, getFields()));
      expect(codeOf(await two.until((seen) => seen.type === frame.reset))).toBe(7);
      expect(proxyPath.http2.active).toBe(3);
    }
    await proxyPath.empty();
    expect(proxyPath.refusals).toEqual(["REFUSED_STREAM"]);
  });

  it("is refused streams while the process has no room for their connections to sandboxes", async () => {
    await using backend = await openStrictBackend(ok);
    const room = { sockets: 0 };
    await using proxyPath = await openProxyPath(backend.port, { hasRoom: (besides) => besides < room.sockets });
    {
      using client = await openFrameClient(proxyPath.port);
      client.send(headersOf(1, getFields()));
      expect(codeOf(await client.until((seen) => seen.type === frame.reset))).toBe(7);
      room.sockets = 1;
      client.send(headersOf(3, getFields()));
      await client.until((seen) => seen.type === frame.data && seen.stream === 3);
    }
    await proxyPath.empty();
    expect(proxyPath.refusals).toEqual(["REFUSED_STREAM"]);
  });
});
