import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openHttp2Client } from "../../../test/support/http2-client.ts";
import {
  blockOf,
  codeOf,
  type FrameClient,
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
import { dialled, openBackend, openProxyPath, openStrictBackend } from "../../../test/support/proxy-path.ts";
import { dialledTls, tls } from "../../../test/support/tls-path.ts";
import { unfinishedMemory } from "./unfinished-fields.ts";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const large = [["x-a", "1".repeat(12_000)]] as const;
/** Room for a few such heads. */
const unfinishedHeadBytesMax = 500_000;

const post = fieldsOf("POST");
const trailers = frameOf({ type: frame.headers, flags: flag.endStream, stream: 1 }, blockOf(large));
const isPing = ({ type, flags }: { readonly type: number; readonly flags: number }) =>
  type === frame.ping && (flags & flag.ack) === 0;

/** Trailers of 120 kB, once decoded: a field of 4,000 bytes, and 29 bytes that name it again. */
const expanding = Buffer.concat([
  ...[Buffer.from([0x40]), numberOf(1, 7), Buffer.from("x"), numberOf(4_000, 7)],
  ...[Buffer.alloc(4_000, 97), Buffer.alloc(29, 0xbe)],
]);

it("an unfinished head counts behind trailers that are much longer than their bytes", async () => {
  await using backend = await openBackend(() => {});
  await using proxyPath = await openProxyPath(backend.port);
  {
    using client = await openFrameClient(proxyPath.port);
    const ending = flag.endStream | flag.endHeaders;
    const unfinished = headersOf(3, getFields(["x-a", "1".repeat(12_000)]), flag.endStream);
    const expandingTrailers = frameOf({ type: frame.headers, flags: ending, stream: 1 }, expanding);
    client.send(headersOf(1, post, flag.endHeaders), expandingTrailers, unfinished);
    await eventually(() => proxyPath.unfinishedBytes > 100_000);
  }
  await proxyPath.empty();
});

const ways = [
  { way: "in clear text", dial: dialled },
  { way: "over TLS", dial: (port: number) => dialledTls(port, "h2"), tls },
];

const origins = [
  { scheme: "http", options: {} },
  { scheme: "https", options: { tls } },
];

async function answerPings(client: FrameClient): Promise<void> {
  const { payload } = await client.until(isPing);
  client.send(frameOf({ type: frame.ping, flags: flag.ack }, payload));
}

describe("heads of HTTP/2 that are not finished", () => {
  it("are in one budget with those of HTTP/1.1, and the connection of the oldest is closed", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { unfinishedHeadBytesMax });
    {
      const { unfinishedHeads } = proxyPath;
      await using clients = new AsyncDisposableStack();
      const begin = async () => {
        const before = proxyPath.unfinishedBytes;
        const client = clients.use(await openFrameClient(proxyPath.port));
        client.send(headersOf(1, getFields(...large), flag.endStream));
        await eventually(() => proxyPath.unfinishedBytes > before || unfinishedHeads.shed > 0);
        return client;
      };
      const oldest = await begin();
      const others = [await begin()];
      while (others.length < 10 && unfinishedHeads.shed === 0) others.push(await begin());
      expect(unfinishedHeads.shed).toBe(1);
      await oldest.closed;
      for (const client of others) {
        client.send(frameOf({ type: frame.continuation, flags: flag.endHeaders, stream: 1 }));
        await client.until(({ type }) => type === frame.data);
      }
    }
    await proxyPath.empty();
  });

  it.each(ways)("are counted $way while other streams are open, and so are trailers", async ({ dial, ...options }) => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port, { unfinishedHeadBytesMax: 20_000, ...options });
    {
      using headClient = await openFrameClient(proxyPath.port, [settingsOf()], dial);
      headClient.send(headersOf(1, getFields()));
      await eventually(() => proxyPath.http2.active === 1);
      headClient.send(headersOf(3, getFields(...large), flag.endStream));
      await headClient.closed;
      using trailerClient = await openFrameClient(proxyPath.port, [settingsOf()], dial);
      trailerClient.send(headersOf(1, post, flag.endHeaders), trailers);
      await trailerClient.closed;
    }
    await proxyPath.empty();
    expect(proxyPath.unfinishedHeads.shed).toBe(2);
  });

  it("are counted once, until more of them arrives", async () => {
    const clock = new FakeClock();
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port, { clock, headersTimeoutMs: 600_000 });
    using client = await openFrameClient(proxyPath.port);
    client.send(headersOf(1, post, flag.endHeaders));
    await eventually(() => proxyPath.http2.active === 1);
    const { unfinishedHeads } = proxyPath;
    const counted = async () => {
      await eventually(async () => {
        await clock.advance(100);
        return proxyPath.unfinishedBytes > 0;
      });
      await clock.advance(1_000);
      const { begun } = unfinishedHeads;
      await clock.advance(10_000);
      expect(unfinishedHeads.begun).toBe(begun);
      return proxyPath.unfinishedBytes;
    };
    const before = await counted();
    client.send(trailers.subarray(0, 10_000)); // they are not finished
    await eventually(async () => {
      await clock.advance(100);
      return proxyPath.unfinishedBytes > before + 10_000;
    });
    await counted();
  });

  it("are forgotten when they are rejected, or when their clients leave", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port);
    {
      using client = await openFrameClient(proxyPath.port);
      client.send(headersOf(1, getFields(["connection", "close"])));
      expect(codeOf(await client.until(({ type }) => type === frame.reset))).toBe(1);
      await answerPings(client);
      using gone = await openFrameClient(proxyPath.port);
      gone.send(headersOf(1, getFields(...large), flag.endStream));
      await eventually(() => proxyPath.unfinishedHeads.begun > 1);
      gone.socket.destroy();
      await eventually(() => proxyPath.unfinishedBytes === 0);
    }
    await proxyPath.empty();
  });

  it.each(ways)("are not suspected $way of clients that upload and answer PING", async ({ dial, ...options }) => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port, options);
    {
      using client = await openFrameClient(proxyPath.port, [settingsOf()], dial);
      client.send(headersOf(1, post, flag.endHeaders));
      await eventually(() => proxyPath.http2.active === 1);
      await answerPings(client);
      for (let count = 0; count < 3; count += 1) {
        client.send(frameOf({ type: frame.data, stream: 1 }, Buffer.alloc(100)));
        client.send(frameOf({ type: frame.windowUpdate }, uint32(1)), settingsOf());
      }
      await eventually(() => client.frames.filter(isPing).length === 2);
    }
    await proxyPath.empty();
    expect(proxyPath.unfinishedHeads.begun).toBe(0);
  });

  it("are not suspected of the data of clients that are far away, and of the rest only after two seconds", async () => {
    const clock = new FakeClock();
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port, { clock });
    using client = await openFrameClient(proxyPath.port);
    client.send(headersOf(1, post, flag.endHeaders));
    const data = frameOf({ type: frame.data, stream: 1 }, Buffer.alloc(16_000));
    client.send(data, data, data);
    await eventually(async () => {
      await clock.advance(100);
      return client.frames.some(isPing);
    });
    await clock.advance(1_800);
    expect(proxyPath.unfinishedHeads.begun).toBe(0);
    await clock.advance(400);
    expect(proxyPath.unfinishedHeads.begun).toBe(1);
    expect(proxyPath.unfinishedBytes).toBeLessThan(20_000);
  });

  it.each(origins)(
    "are looked for by one PING over $scheme when a client falls silent in an upload",
    async (origin) => {
      const clock = new FakeClock();
      await using backend = await openBackend(() => {});
      await using proxyPath = await openProxyPath(backend.port, { clock, ...origin.options });
      {
        using client = openHttp2Client(`${origin.scheme}://127.0.0.1:${proxyPath.port}`);
        let pings = 0;
        client.session.on("ping", () => (pings += 1));
        client.open({ ":method": "POST" }).write("the beginning");
        await eventually(() => proxyPath.http2.active === 1);
        await eventually(async () => {
          await clock.advance(100);
          return pings === 1;
        });
        for (let steps = 0; steps < 50; steps += 1) {
          await clock.advance(100);
          await turn();
        }
        expect([pings, proxyPath.unfinishedHeads.shed]).toEqual([1, 0]);
      }
      await clock.advance(1_000);
    },
  );

  it("count with their fields, each of which takes more memory than its bytes", () => {
    expect(unfinishedMemory(100, 100_000)).toBe(200 + 25 * 256);
    expect(unfinishedMemory(1_000_000, 100_000)).toBe(100_000 + 512 * 256);
  });
});
