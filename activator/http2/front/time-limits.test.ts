import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { openHttp2Client } from "../../../test/support/http2-client.ts";
import {
  codeOf,
  endsStream,
  frame,
  frameOf,
  getFields,
  headersOf,
  openFrameClient,
  settingsOf,
} from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath, openStrictBackend } from "../../../test/support/proxy-path.ts";
import { turnFrames } from "../room/turn-frames.ts";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const soonMs = 150;

describe("a connection of HTTP/2", () => {
  it("without a request is closed after the limit for heads", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { headersTimeoutMs: soonMs });
    using client = await openFrameClient(proxyPath.port);
    await client.closed;
    await proxyPath.empty();
  });

  it("gets the whole limit once it has begun, however long it waited for its turn", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { headersTimeoutMs: soonMs });
    {
      const mayRead = vi.spyOn(turnFrames, "mayRead", "get").mockReturnValue(false);
      using client = await openFrameClient(proxyPath.port);
      client.send(headersOf(1, getFields()));
      await delay(3 * soonMs);
      mayRead.mockRestore();
      await client.until(endsStream(1));
    }
    await proxyPath.empty();
  });

  it("whose first head never ends is closed after the same limit", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { headersTimeoutMs: soonMs });
    using client = await openFrameClient(proxyPath.port);
    client.send(headersOf(1, getFields(), 0));
    await client.closed;
    await proxyPath.empty();
  });

  it("whose preface never ends is closed after the same limit", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { headersTimeoutMs: soonMs });
    using client = await openFrameClient(proxyPath.port, []);
    await client.closed;
    await proxyPath.empty();
  });

  it("without streams says GOAWAY and closes after the limit for idle connections", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { keepAliveTimeoutMs: soonMs });
    using client = await openFrameClient(proxyPath.port);
    client.send(headersOf(1, getFields()));
    expect(codeOf(await client.until(({ type }) => type === frame.goaway))).toBe(0);
    await client.closed;
    await proxyPath.empty();
    expect(proxyPath.ends).toEqual([{ status: 200, bytesOut: 5 }]);
  });

  it("stays open while it is used", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { keepAliveTimeoutMs: 10_000, headersTimeoutMs: 2_000 });
    {
      using client = openHttp2Client(proxyPath.port);
      expect(await client.ask()).toMatchObject({ status: 200 });
      using other = await openFrameClient(proxyPath.port);
      await other.closed;
      expect(await client.ask()).toMatchObject({ status: 200 });
    }
    await proxyPath.empty();
  });
});

describe("a stream of HTTP/2", () => {
  it("whose client takes nothing of a response is reset after the limit for pauses, and keeps little", async () => {
    const megabytes = Buffer.alloc(4_194_304);
    await using backend = await openBackend((socket) => {
      socket.once("data", () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${megabytes.length}\r\n\r\n`);
        socket.write(megabytes);
      });
    });
    await using proxyPath = await openProxyPath(backend.port, { streamIdleMs: 300 });
    {
      using client = await openFrameClient(proxyPath.port, [settingsOf([4, 0])]);
      client.send(headersOf(1, getFields()));
      await client.until((seen) => seen.type === frame.reset && seen.stream === 1);
      expect(client.frames.filter(({ type }) => type === frame.data)).toEqual([]);
      expect(proxyPath.ends[0]?.bytesOut ?? 0).toBeLessThan(300_000);
    }
    await proxyPath.empty();
  });

  it("whose client takes nothing of an error is reset after the limit for idle connections", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { keepAliveTimeoutMs: 300 });
    {
      using client = await openFrameClient(proxyPath.port, [settingsOf([4, 0])]);
      client.send(headersOf(1, [...getFields(), ["host", "other.test"]]));
      client.send(headersOf(3, getFields(["expect", "wonders"])));
      for (const stream of [1, 3]) await client.until((seen) => seen.type === frame.reset && seen.stream === stream);
    }
    await proxyPath.empty();
    expect(proxyPath.refusals).toEqual(["MalformedRequest", "ExpectationFailed"]);
  });

  it("whose client takes nothing of an error after the request was proxied is reset after the same limit", async () => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port, { keepAliveTimeoutMs: 300, responseStartMs: soonMs });
    {
      using client = await openFrameClient(proxyPath.port, [settingsOf([4, 0])]);
      client.send(headersOf(1, getFields()));
      await client.until((seen) => seen.type === frame.reset && seen.stream === 1);
    }
    await proxyPath.empty();
    expect(proxyPath.refusals).toEqual(["SandboxSlow"]);
  });

  it("gets 504 when the sandbox does not begin its response in time", async () => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port, { responseStartMs: soonMs });
    {
      using client = openHttp2Client(proxyPath.port);
      expect(await client.ask()).toMatchObject({ status: 504 });
    }
    await proxyPath.empty();
  });

  it("is reset when its whole time is over, and when its Pod is gone", async () => {
    await using backend = await openBackend((socket) => {
      socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"));
    });
    await using proxyPath = await openProxyPath(backend.port, { totalMs: 300 });
    {
      using client = openHttp2Client(proxyPath.port);
      expect(await client.ask()).toMatchObject({ status: 200, code: 2 });
    }
    await proxyPath.empty();
  });
});

describe("a replica that exits", () => {
  it("says GOAWAY, finishes the streams in progress, and is idle then", async () => {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { released });
    using client = openHttp2Client(proxyPath.port);
    const held = client.ask({ ":path": "/held" });
    await eventually(() => proxyPath.http2.active === 1);
    const goaway = once(client.session, "goaway");
    proxyPath.http2.beginDrain();
    const [code, last] = await goaway;
    expect([code, last]).toEqual([0, 2 ** 31 - 1]);
    proxyPath.http2.stopAccepting();
    const idle = proxyPath.http2.idle();
    resolve();
    expect(await held).toMatchObject({ status: 200, body: "hello", code: 0 });
    await idle;
    await proxyPath.empty();
  });

  it("serves a client that connects meanwhile, and tells it to go elsewhere", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port);
    proxyPath.http2.beginDrain();
    {
      using client = await openFrameClient(proxyPath.port);
      client.send(headersOf(1, getFields()), frameOf({ type: frame.ping }, Buffer.alloc(8)));
      await client.until((seen) => seen.type === frame.goaway);
      await client.until((seen) => seen.type === frame.data);
    }
    await proxyPath.empty();
  });

  it("cuts what is left in the end, open streams and connections without one", async () => {
    await using backend = await openBackend(() => {});
    const proxyPath = await openProxyPath(backend.port);
    using client = openHttp2Client(proxyPath.port);
    using silent = await openFrameClient(proxyPath.port);
    const asked = client.ask();
    await eventually(() => proxyPath.http2.active === 1);
    await proxyPath[Symbol.asyncDispose]();
    expect((await asked).status).toBe(0);
    await silent.closed;
  });

  it("resets a response that it cuts, so that the client does not take it for complete", async () => {
    await using backend = await openBackend((socket) => {
      socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\n\r\na part"));
    });
    const proxyPath = await openProxyPath(backend.port);
    using client = await openFrameClient(proxyPath.port);
    client.send(headersOf(1, getFields()));
    await client.until(({ type, stream }) => type === frame.data && stream === 1);
    await proxyPath[Symbol.asyncDispose]();
    await client.closed;
    const ends = client.frames.filter(endsStream(1));
    expect(ends.map((seen) => [seen.type, codeOf(seen)])).toEqual([[frame.reset, 2]]);
  });

  it("closes connections without streams when it accepts no more", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port);
    using client = await openFrameClient(proxyPath.port);
    client.send(headersOf(1, getFields()));
    await client.until((seen) => seen.type === frame.data);
    proxyPath.http2.stopAccepting();
    await client.closed;
    await proxyPath.http2.idle();
    await proxyPath.empty();
  });
});
