import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { memoryInUse } from "../../../test/support/heap-bytes.ts";
import { answerOf, openHttp2Client } from "../../../test/support/http2-client.ts";
import {
  endsStream,
  fieldsOf,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
  uint32,
} from "../../../test/support/http2-frames.ts";
import { openProxyPath, openStrictBackend } from "../../../test/support/proxy-path.ts";
import { streamWindowBytes } from "./session-options.ts";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const post = (path: string) =>
  fieldsOf("POST").map(([name, value]) => [name, name === ":path" ? path : value] as const);

describe("streams", () => {
  it("that are held, a thousand of ten connections, hold up no other and take little memory", async () => {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { released });
    {
      await using opened = new AsyncDisposableStack();
      const clients = Array.from({ length: 10 }, () => opened.use(openHttp2Client(proxyPath.port)));
      const [client] = clients;
      await Promise.all(clients.map((each) => each.ask()));
      const before = await memoryInUse();
      const held = clients.flatMap((each) => Array.from({ length: 100 }, () => each.ask({ ":path": "/held" })));
      await eventually(() => proxyPath.http2.active === 1_000);
      const after = await memoryInUse();
      // The client's side is in this process too.
      expect((after.heapUsed + after.external - before.heapUsed - before.external) / 1_000).toBeLessThan(32_768);
      expect(await client?.ask({ ":path": "/other" })).toMatchObject({ status: 200 });
      expect(proxyPath.http2.active).toBe(1_000);
      resolve();
      const answers = await Promise.all(held);
      const outcomes = new Set(answers.map(({ status, body, code }) => `${status} ${body} ${code}`));
      expect([...outcomes]).toEqual(["200 hello 0"]);
    }
    await proxyPath.empty();
  }, 60_000);

  it("that are reset while they are held never reach the sandbox", async () => {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    const seen: string[] = [];
    await using backend = await openStrictBackend(ok, (requests) => seen.push(...requests.map(({ target }) => target)));
    await using proxyPath = await openProxyPath(backend.port, { released });
    {
      using client = openHttp2Client(proxyPath.port);
      const [one, other] = [client.open({ ":path": "/held/1" }), client.ask({ ":path": "/held/2" })];
      await eventually(() => proxyPath.http2.active === 2);
      one.close(8);
      await eventually(() => proxyPath.http2.active === 1);
      resolve();
      expect(await other).toMatchObject({ status: 200 });
    }
    await proxyPath.empty();
    await proxyPath[Symbol.asyncDispose]();
    await eventually(() => seen.length > 0);
    expect(seen).toEqual(["/held/2"]);
    expect(proxyPath.ends.map(({ status }) => status)).toEqual([499, 200]);
  });

  it("that are reset without an error before their body is whole are not taken for complete", async () => {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    const seen: string[] = [];
    await using backend = await openStrictBackend(ok, (requests) => seen.push(...requests.map(({ target }) => target)));
    await using proxyPath = await openProxyPath(backend.port, { released });
    {
      using client = await openFrameClient(proxyPath.port);
      for (const [stream, path] of [
        [1, "/now"],
        [3, "/held"],
      ] as const) {
        client.send(
          headersOf(stream, post(path), flag.endHeaders),
          frameOf({ type: frame.data, stream }, Buffer.from("part")),
        );
      }
      await eventually(() => proxyPath.http2.active === 2);
      client.send(...[1, 3].map((stream) => frameOf({ type: frame.reset, stream }, uint32(0))));
      await eventually(() => proxyPath.http2.active === 0);
      resolve();
    }
    await proxyPath.empty();
    expect(seen).toEqual([]);
  });

  it("keep no more of a body than the window while they are held, in however small frames it comes", async () => {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, { released });
    {
      using client = await openFrameClient(proxyPath.port);
      client.send(headersOf(1, post("/held"), flag.endHeaders));
      await eventually(() => proxyPath.http2.active === 1);
      const before = await memoryInUse();
      const piece = frameOf({ type: frame.data, stream: 1 }, Buffer.from("x"));
      const pieces = Buffer.concat(Array.from({ length: 1_000 }, () => piece));
      for (let sent = 0; sent < 65_000; sent += 1_000) client.send(pieces);
      await eventually(() => client.socket.bytesWritten > 650_000 && client.socket.writableLength === 0);
      client.send(frameOf({ type: frame.ping }, Buffer.alloc(8)));
      await client.until((seen) => seen.type === frame.ping);
      const after = await memoryInUse();
      expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(4_000_000);
      expect(client.frames.filter((seen) => seen.type === frame.windowUpdate && seen.stream === 1)).toEqual([]);
      resolve();
      client.send(frameOf({ type: frame.data, flags: flag.endStream, stream: 1 }, Buffer.from("y")));
      expect((await client.until(endsStream(1))).type).toBe(frame.data);
    }
    await proxyPath.empty();
    expect(proxyPath.refusals).toEqual([]);
  });

  it("send a body that is larger than the window once the sandbox takes it, byte for byte", async () => {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    const bodies: string[] = [];
    await using backend = await openStrictBackend(ok, (requests) => bodies.push(...requests.map(({ body }) => body)));
    await using proxyPath = await openProxyPath(backend.port, { released });
    const body = Buffer.from(Array.from({ length: 40 * streamWindowBytes }, (_, at) => (at * 31) % 251));
    {
      using client = openHttp2Client(proxyPath.port);
      const stream = client.open({ ":method": "POST", ":path": "/held" });
      const answer = answerOf(stream);
      stream.end(body);
      await eventually(() => proxyPath.http2.active === 1);
      resolve();
      expect(await answer).toMatchObject({ status: 200, body: "hello", code: 0 });
    }
    await proxyPath.empty();
    await proxyPath[Symbol.asyncDispose]();
    await eventually(() => bodies.length === 1);
    expect(bodies[0] === body.toString("latin1")).toBe(true);
  }, 60_000);
});
