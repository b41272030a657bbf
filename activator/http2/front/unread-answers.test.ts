import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { memoryBytesOf } from "../../../test/support/heap-bytes.ts";
import {
  blockOf,
  endsStream,
  fieldsOf,
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
import { openProxyPath, openStrictBackend, type ProxyPathOptions } from "../../../test/support/proxy-path.ts";

type Fields = readonly (readonly [string, string])[];

const streams = 60;
/** A client that takes no byte of a response's body. */
const noWindow = settingsOf([4, 0]);
const indexed = Buffer.from([0xbe]);

/** A field that enters the table of the connection. Later blocks name it by `indexed`. */
const added = (length: number) =>
  Buffer.concat([
    Buffer.from([0x40]),
    numberOf(1, 7),
    Buffer.from("x"),
    numberOf(length, 7),
    Buffer.alloc(length, "v"),
  ]);

/** A block of fields that are 60 KB long, and take few bytes after the first. */
function largeBlock(fields: Fields, isFirst: boolean): Buffer {
  const again = Array.from({ length: 15 }, () => indexed);
  return Buffer.concat([blockOf(fields), ...(isFirst ? [added(3_900)] : []), ...again]);
}

const largeHead = (stream: number, fields: Fields) =>
  frameOf({ type: frame.headers, flags: flag.endHeaders | flag.endStream, stream }, largeBlock(fields, stream === 1));

/** A path whose sandbox refuses every connection. */
async function openRefusingPath(options: ProxyPathOptions = {}) {
  const backend = await openStrictBackend("");
  await backend[Symbol.asyncDispose]();
  return openProxyPath(backend.port, options);
}

describe("a response of the activator itself that its client does not read", () => {
  it.each([
    { keeps: "no head of its request", of: (stream: number) => [largeHead(stream, getFields())] },
    {
      keeps: "no head of a malformed request",
      of: (stream: number) => [largeHead(stream, getFields(["host", "other.test"]))],
    },
  ])("keeps $keeps", async ({ of }) => {
    await using proxyPath = await openRefusingPath();
    {
      using client = await openFrameClient(proxyPath.port, [noWindow]);
      const heads = () => client.frames.filter(({ type }) => type === frame.headers).length;
      const ask = async (from: number, to: number) => {
        for (let at = from; at < to; at += 1) client.send(...of(2 * at + 1));
        await eventually(() => heads() === to);
        client.send(frameOf({ type: frame.ping }, Buffer.alloc(8, to % 251)));
        await client.until((seen) => seen.type === frame.ping && seen.payload[0] === to % 251);
      };
      await ask(0, streams);
      const bytes = await memoryBytesOf(() => ask(streams, 2 * streams));
      expect(bytes / streams).toBeLessThan(12_000);
      expect(client.frames.filter(({ type }) => type === frame.reset)).toEqual([]);
    }
    await proxyPath.empty();
  });

  it("takes no room from requests, neither of those in progress nor of their sockets", async () => {
    await using proxyPath = await openRefusingPath({ maxConnections: 10, hasRoom: (besides) => besides < 2 });
    {
      using client = await openFrameClient(proxyPath.port, [noWindow]);
      for (let at = 0; at < streams; at += 1) {
        client.send(headersOf(2 * at + 1, getFields()));
        await client.until(({ type, stream }) => type === frame.headers && stream === 2 * at + 1);
      }
      expect(proxyPath.http2.active).toBe(streams); // a replica that exits waits for them
      using other = await openFrameClient(proxyPath.port);
      other.send(headersOf(1, getFields()));
      expect((await other.until(endsStream(1))).type).toBe(frame.data);
    }
    await proxyPath.empty();
    expect(proxyPath.refusals).not.toContain("REFUSED_STREAM");
  });

  it("is not cut because the trailers of its request are malformed", async () => {
    await using proxyPath = await openRefusingPath();
    {
      using client = await openFrameClient(proxyPath.port, [noWindow]);
      client.send(headersOf(1, fieldsOf("POST"), flag.endHeaders));
      await client.until(({ type }) => type === frame.headers);
      client.send(headersOf(1, [["x-sandbox-id", "other"]]));
      client.send(frameOf({ type: frame.ping }, Buffer.alloc(8)));
      await client.until(({ type }) => type === frame.ping);
      client.send(frameOf({ type: frame.windowUpdate, stream: 1 }, uint32(1_000)));
      expect((await client.until(endsStream(1))).type).toBe(frame.data);
    }
    await proxyPath.empty();
    expect(proxyPath.refusals).toHaveLength(1); // the answer, and no refusal of the trailers
  });

  it("is reset after 5 s if a hundred others of its connection are unread", async () => {
    const clock = new FakeClock();
    await using proxyPath = await openRefusingPath({ clock, keepAliveTimeoutMs: 120_000 });
    {
      using client = await openFrameClient(proxyPath.port, [noWindow]);
      const resets = () => client.frames.filter(({ type }) => type === frame.reset).map(({ stream }) => stream);
      for (let at = 0; at < 105; at += 1) client.send(headersOf(2 * at + 1, getFields()));
      await eventually(() => client.frames.filter(({ type }) => type === frame.headers).length === 105);
      await clock.advance(4_500);
      expect(resets()).toEqual([]);
      await clock.advance(1_000);
      await eventually(() => resets().length === 5);
      expect(resets().every((stream) => stream > 200)).toBe(true);
      await clock.advance(114_000);
      expect(resets()).toHaveLength(5);
      await clock.advance(2_000);
      await eventually(() => resets().length === 105);
    }
    await proxyPath.empty();
  });
});
