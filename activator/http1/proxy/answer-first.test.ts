import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath, type ProxyPathOptions, say } from "../../../test/support/proxy-path.ts";

const answer = "HTTP/1.1 202 Later\r\nContent-Length: 2\r\nKeep-Alive: timeout=60\r\n\r\nok";
const size = 400_000;
const body = "x".repeat(size);
const get = "GET /next HTTP/1.1\r\nHost: nova\r\n\r\n";

/** What a sandbox does once it has answered. It answers each head at once. */
type Afterwards = (socket: Socket) => void;

/** A client on one connection, and a sandbox that answers before it reads. */
async function openWorld(afterwards: Afterwards = () => {}, options: ProxyPathOptions = {}, response = answer) {
  await using opened = new AsyncDisposableStack();
  const got = { text: "", connections: 0, closed: 0, ended: 0 };
  const backend = opened.use(
    await openBackend((socket) => {
      got.connections += 1;
      socket.on("close", () => (got.closed += 1));
      socket.on("end", () => {
        got.ended += 1;
        socket.end();
      });
      socket.on("data", (bytes: Buffer) => {
        const text = bytes.toString("latin1");
        got.text += text;
        if (/(POST|GET) \//.test(text)) socket.write(response, () => afterwards(socket));
      });
    }),
  );
  const path = opened.use(await openProxyPath(backend.port, options));
  const client = await dialled(path.port);
  opened.defer(() => void client.destroy());
  const heard = { text: "", end: "" };
  client.on("data", (bytes: Buffer) => (heard.text += bytes.toString("latin1")));
  for (const event of ["end", "close"]) client.on(event, () => (heard.end ||= event));
  const answered = (count: number) => eventually(() => heard.text.split(" 202 Later").length === count + 1);
  const closing = opened.move();
  return { ...{ path, client, got, heard, answered }, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

const head = (version = "1.1", framing = `Content-Length: ${size}`) =>
  `POST / HTTP/${version}\r\nHost: nova\r\nConnection: keep-alive\r\n${framing}\r\n\r\n`;
const chunks = `${size.toString(16)}\r\n${body}\r\n0\r\nX-Sum: 1\r\n\r\n`;

describe("a sandbox that answers first gets the rest of the request", () => {
  it.each([
    { what: "with a length", first: head(), rest: body, end: "x" },
    { what: "in chunks", first: head("1.1", "Transfer-Encoding: chunked"), rest: chunks, end: "X-Sum: 1\r\n\r\n" },
    { what: "over HTTP/1.0", first: head("1.0"), rest: body, end: "x" },
  ])("$what, and the client's connection stays", async ({ first, rest, end }) => {
    await using world = await openWorld();
    const { client, got, heard, path } = world;
    for (let count = 1; count <= 3; count += 1) {
      got.text = "";
      client.write(first);
      await world.answered(count);
      expect(path.ends.length).toBe(count - 1); // in flight until the sandbox has the whole request
      expect(path.pool.size).toBe(0);
      client.write(rest);
      await eventually(() => path.ends.length === count);
      await eventually(() => got.text.length > size && got.text.endsWith(end));
      expect(got.text.split("x").length - 1).toBe(size);
    }
    expect([heard.end, path.connections.opened, path.front.active]).toEqual(["", 1, 0]);
    await eventually(() => got.ended === 3); // by an end: a reset could take the rest of the request with it
  });

  it("and no other request waits behind it", async () => {
    const uploads: Socket[] = [];
    await using world = await openWorld((socket) => void (uploads.length === 0 && uploads.push(socket.pause())));
    const { client, got, path } = world;
    client.write(head() + body.slice(1));
    await world.answered(1);
    client.write("x"); // after the answer: else the connection could serve another request
    await eventually(() => path.ends.length === 1); // the kernel has the whole request, and its program a part of it
    expect(await say(path.port, get.replace("Host", "Connection: close\r\nHost"))).toMatch(/202 Later/);
    expect([got.connections, got.ended]).toEqual([2, 0]);
    for (const upload of uploads) upload.resume();
    await eventually(() => got.ended === 1);
    expect(got.text.replaceAll(/(POST|GET) .*?\r\n\r\n/gs, "")).toBe(body);
  });

  it("and no other request waits behind it, if only the end of the response came after the request", async () => {
    const uploads: Socket[] = [];
    const begun = answer.slice(0, -1);
    await using world = await openWorld((socket) => void uploads.push(socket), {}, begun);
    const { client, got, path } = world;
    client.write(head());
    await eventually(() => world.heard.text.endsWith("o"));
    client.write(body);
    await eventually(() => got.text.endsWith(body));
    for (const upload of uploads) upload.write("k");
    await eventually(() => path.ends.length === 1 && got.ended === 1);
    expect(path.pool.size).toBe(0);
  });

  it("before the next request of the client begins", async () => {
    await using world = await openWorld();
    world.client.write(head() + body.slice(1));
    await world.answered(1);
    world.client.write(`x${get}`);
    await world.answered(2);
    expect(world.got.text).toMatch(/x{400000}GET \/next /);
  });

  it("although it reads only after a while", async () => {
    await using world = await openWorld((socket) => {
      socket.pause();
      setImmediate(() => socket.resume());
    });
    world.client.write(head() + body + get);
    await world.answered(2);
    expect(world.got.text).toMatch(/x{400000}GET \/next /);
  });

  it("although its response ends with its side, and that of the client's connection", async () => {
    await using world = await openWorld((socket) => socket.end(), {}, "HTTP/1.0 202 Later\r\n\r\nok");
    world.client.write(head("1.0"));
    await eventually(() => world.heard.end === "end");
    expect(world.heard.text).toMatch(/Connection: close\r\n\r\nok$/);
    world.client.write(body);
    await eventually(() => world.got.text.endsWith(body));
    await eventually(() => world.path.ends.length === 1);
    world.client.destroy();
    await world.path.empty();
  });

  it("while the replica drains, and the connection closes only then", async () => {
    await using world = await openWorld();
    world.path.front.beginDrain();
    world.client.write(head());
    await world.answered(1);
    expect(world.heard.text).toContain("Connection: close\r\n");
    world.path.front.stopAccepting();
    world.client.write(body);
    await eventually(() => world.heard.end === "end");
    expect(world.got.text.endsWith(body)).toBe(true);
    world.client.end();
    await world.path.empty();
  });
});

describe("a client whose sandbox does not want the rest of its request", () => {
  it.each([
    { what: "closes", afterwards: (socket: Socket) => void socket.destroy() },
    { what: "resets", afterwards: (socket: Socket) => void socket.resetAndDestroy() },
    { what: "sends more than its response", afterwards: (socket: Socket) => void socket.write("more") },
  ])("keeps its connection, although the sandbox $what", async ({ afterwards }) => {
    await using world = await openWorld(afterwards);
    world.client.write(head() + body.slice(1));
    await world.answered(1);
    await eventually(() => world.got.closed === 1);
    world.client.write(`x${get}`);
    await world.answered(2);
    expect([world.heard.end, world.got.connections]).toEqual(["", 2]);
  });

  it("is closed after a pause of 5 s in that rest", async () => {
    const clock = new FakeClock();
    await using world = await openWorld(() => {}, { clock });
    world.client.write(head());
    await world.answered(1);
    world.path.podGone();
    await clock.advance(5_200);
    await eventually(() => world.got.closed === 1);
    expect(world.path.connections.open).toBe(1);
    await clock.advance(4_600);
    expect(world.path.connections.open).toBe(1);
    await clock.advance(800);
    await world.path.empty();
  });
});

describe("the rest of a request whose response is complete", () => {
  it("ends with the side of its client, whose end the sandbox sees", async () => {
    await using world = await openWorld();
    world.client.write(head());
    await world.answered(1);
    world.client.end("xxx");
    await eventually(() => world.got.closed === 1);
    await world.path.empty();
  });

  it("ends if it is malformed, and the client's connection closes", async () => {
    await using world = await openWorld();
    world.client.write(head("1.1", "Transfer-Encoding: chunked"));
    await world.answered(1);
    world.client.write("malformed\r\n");
    await eventually(() => world.heard.end === "end" && world.got.closed === 1);
    world.client.end();
    await world.path.empty();
  });

  it.each([
    { what: "a pause of its client", options: { proxyTimeoutMs: 60_000 }, sends: "", limitMs: 60_000 },
    { what: "a whole request", options: { totalMs: 30_000 }, sends: "", limitMs: 30_000 },
  ])("has the limit of $what", async ({ options, sends, limitMs }) => {
    const clock = new FakeClock();
    await using world = await openWorld(() => {}, { ...options, clock });
    world.client.write(head() + sends);
    await world.answered(1);
    await clock.advance(limitMs - 600);
    expect(world.got.closed).toBe(0);
    await clock.advance(1_000);
    await eventually(() => world.got.closed === 1);
  });

  it("has the limit of a sandbox that does not take it", async () => {
    const clock = new FakeClock();
    const length = 64_000_000; // more than the kernel keeps for two connections
    const options = { proxyTimeoutMs: 60_000, responseStartMs: 10_000, clock };
    await using world = await openWorld((socket) => socket.pause(), options);
    world.client.write(head("1.1", `Content-Length: ${length}`));
    await world.answered(1);
    world.client.write(Buffer.alloc(length));
    await clock.advance(11_000);
    expect(world.path.front.active).toBe(1);
    await eventually(async () => {
      await clock.advance(60_200);
      return world.path.ends.length === 1;
    });
  });
});
