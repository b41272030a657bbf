import { constants } from "node:http2";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { answerOf, openHttp2Client } from "../../../test/support/http2-client.ts";
import { openBackend, openProxyPath, type ProxyPathOptions } from "../../../test/support/proxy-path.ts";

const answer = "HTTP/1.1 202 Later\r\nContent-Length: 2\r\nKeep-Alive: timeout=60\r\n\r\nok";
const size = 400_000;
const body = "x".repeat(size);

/** A client on one connection, and a sandbox that answers each head before it reads, and then does what the test says. */
async function openWorld(
  afterwards: (socket: Socket) => void = () => {},
  options: ProxyPathOptions = {},
  response = answer,
) {
  await using opened = new AsyncDisposableStack();
  const got = { text: "", connections: 0, ended: 0, reset: 0 };
  const backend = opened.use(
    await openBackend((socket) => {
      got.connections += 1;
      socket.on("end", () => {
        got.ended += 1;
        socket.end();
      });
      socket.on("error", () => (got.reset += 1));
      socket.on("data", (bytes: Buffer) => {
        const text = bytes.toString("latin1");
        got.text += text;
        if (/(POST|GET) \//.test(text)) socket.write(response, () => afterwards(socket));
      });
    }),
  );
  const path = opened.use(await openProxyPath(backend.port, options));
  const client = opened.use(openHttp2Client(path.port));
  const closing = opened.move();
  return { path, client, got, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

const post = { ":method": "POST", "content-length": String(size) };

/** Opens a stream, and resolves once it has the head of the response. */
async function asked({ client }: Awaited<ReturnType<typeof openWorld>>, headers: Record<string, string> = post) {
  const stream = client.open(headers);
  const answered = answerOf(stream);
  const heard = { head: false };
  stream.once("response", () => {
    heard.head = true;
  });
  await eventually(() => heard.head);
  return { stream, answered };
}

describe("over HTTP/2, a sandbox that answers first gets the rest of the request", () => {
  it("and its connection serves no other, and gets an end", async () => {
    await using world = await openWorld();
    const { path, got } = world;
    for (let count = 1; count <= 3; count += 1) {
      got.text = "";
      const { stream, answered } = await asked(world);
      expect(path.ends.length).toBe(count - 1); // in flight until the sandbox has the whole request
      expect(path.pool.size).toBe(0);
      stream.end(body);
      expect(await answered).toMatchObject({ status: 202, body: "ok", code: 0 });
      await eventually(() => path.ends.length === count);
      await eventually(() => got.text.endsWith(body));
      await eventually(() => got.ended === count); // by an end: a reset could take the rest of the request with it
    }
    expect([got.connections, path.pool.size]).toEqual([3, 0]);
  });

  it("and no other request waits behind it", async () => {
    const uploads: Socket[] = [];
    await using world = await openWorld((socket) => void (uploads.length === 0 && uploads.push(socket.pause())));
    const { path, got, client } = world;
    const { stream, answered } = await asked(world);
    stream.end(body);
    await answered;
    await eventually(() => path.ends.length === 1); // the kernel has the whole request, and its program a part of it
    expect(await client.ask()).toMatchObject({ status: 202 });
    expect([got.connections, got.ended]).toEqual([2, 0]);
    for (const upload of uploads) upload.resume();
    await eventually(() => got.ended === 1);
    expect(got.text.replaceAll(/(POST|GET) .*?\r\n\r\n/gs, "")).toBe(body);
  });

  it("and no other request waits behind it, if only the end of the response came after the request", async () => {
    const uploads: Socket[] = [];
    await using world = await openWorld((socket) => void uploads.push(socket), {}, answer.slice(0, -1));
    const { path, got } = world;
    const { stream, answered } = await asked(world);
    stream.end(body);
    await eventually(() => got.text.endsWith(body));
    for (const upload of uploads) upload.write("k");
    expect(await answered).toMatchObject({ status: 202, body: "ok" });
    await eventually(() => path.ends.length === 1 && got.ended === 1);
    expect(path.pool.size).toBe(0);
  });

  it("also if its client resets the stream after the whole request", async () => {
    await using world = await openWorld((socket) => {
      socket.pause();
      setImmediate(() => socket.resume());
    });
    const { stream, answered } = await asked(world);
    stream.end(body);
    await answered;
    await eventually(() => world.got.text.endsWith(body));
    await eventually(() => world.path.ends.length === 1);
  });

  it("unless its status is an error", async () => {
    await using world = await openWorld(() => {}, {}, answer.replace("202", "413"));
    const { stream, answered } = await asked(world);
    stream.write("x");
    expect(await answered).toMatchObject({ status: 413, body: "ok", code: constants.NGHTTP2_NO_ERROR });
    await eventually(() => world.path.ends.length === 1);
  });
});

describe("over HTTP/2, the rest of a request after its complete response", () => {
  const times = { streamIdleMs: 4_000, proxyTimeoutMs: 20_000 };
  const open = { ":method": "POST" };

  it("is not cut while it moves, whatever a pause in a response may last", async () => {
    const clock = new FakeClock();
    await using world = await openWorld(() => {}, { ...times, clock });
    const { stream, answered } = await asked(world, open);
    await eventually(() => stream.readableEnded);
    for (let count = 1; count <= 10; count += 1) {
      stream.write(`<${count}>`);
      await eventually(() => world.got.text.includes(`<${count}>`));
      await clock.advance(3_000);
    }
    stream.end();
    expect(await answered).toMatchObject({ status: 202, body: "ok", code: constants.NGHTTP2_NO_ERROR });
    await eventually(() => world.got.text.endsWith("0\r\n\r\n"));
    expect(world.path.ends).toHaveLength(1);
  });

  it("is over after the limit for a pause in a request", async () => {
    const clock = new FakeClock();
    await using world = await openWorld(() => {}, { ...times, clock });
    const { stream, answered } = await asked(world, open);
    stream.write("<1>");
    await eventually(() => stream.readableEnded && world.got.text.includes("<1>"));
    await clock.advance(19_000);
    expect(stream.closed).toBe(false);
    await clock.advance(1_500);
    expect(await answered).toMatchObject({ status: 202, body: "ok", code: constants.NGHTTP2_NO_ERROR });
    await eventually(() => world.path.ends.length === 1 && world.got.reset === 1); // it has a part of the request
  });
});

describe("over HTTP/2, the client of a sandbox that does not want the rest", () => {
  it.each([
    { what: "closes", afterwards: (socket: Socket) => void socket.destroy() },
    { what: "resets", afterwards: (socket: Socket) => void socket.resetAndDestroy() },
    { what: "sends more than its response", afterwards: (socket: Socket) => void socket.write("more") },
  ])("is told to stop by NO_ERROR, if the sandbox $what", async ({ afterwards }) => {
    await using world = await openWorld(afterwards);
    const { stream, answered } = await asked(world);
    const timer = setInterval(() => stream.writable && stream.write("x"), 5);
    expect(await answered).toMatchObject({ status: 202, body: "ok", code: constants.NGHTTP2_NO_ERROR });
    clearInterval(timer);
    await eventually(() => world.path.ends.length === 1);
    expect(await world.client.ask()).toMatchObject({ status: 202 });
  });
});

describe("over HTTP/2, a client that pauses in its request", () => {
  it("gets the error for its own pause, and the sandbox is not blamed", async () => {
    const clock = new FakeClock();
    await using backend = await openBackend((socket) => {
      socket.on("data", () => {}).on("end", () => socket.end());
    });
    await using path = await openProxyPath(backend.port, { clock, responseStartMs: 5_000, proxyTimeoutMs: 60_000 });
    using client = openHttp2Client(path.port);
    const stream = client.open({ ":method": "POST", "content-length": "10" });
    const answered = answerOf(stream);
    stream.write("12345");
    await eventually(() => path.front.active + path.http2.active === 1);
    await eventually(async () => {
      await clock.advance(1_000);
      return path.refusals.length > 0;
    });
    expect(path.refusals).toEqual(["RequestTimedOut"]);
    expect((await answered).status).toBe(408);
  });
});
