import { once } from "node:events";
import { createServer, type RequestListener, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { FakeClock } from "../time/clock.ts";
import { limitConnections, strangerLimits } from "./connection-limit.ts";

const chunkedHead = "POST /early HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

/** A server that reads each request to its end, and a client that hears how its connection ends. */
async function given(timeouts: Pick<ServerOptions, "headersTimeout" | "requestTimeout"> = {}, tls?: TlsOptions) {
  await using opened = new AsyncDisposableStack();
  const clock = new FakeClock();
  const carriedOut: string[] = [];
  const options = { ...strangerLimits, connectionsCheckingInterval: 20, ...timeouts };
  const answer: RequestListener = (request, response) => {
    if (request.url === "/unread") return;
    if (request.url === "/begun") return void response.write("a part");
    if (request.url === "/early") return void response.end("fine");
    request.resume().once("end", () => {
      carriedOut.push(request.url ?? "");
      response.end("fine");
    });
  };
  const server = tls ? createTlsServer({ ...options, ...tls }, answer) : createServer(options, answer);
  const limits = limitConnections(server, { max: 10, perPeerMax: 10, clock });
  opened.defer(() => {
    limits.closeAll();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  opened.defer(() => void client.destroy());
  const heard = { text: "", end: "" };
  client.on("data", (bytes: Buffer) => (heard.text += bytes.toString("latin1")));
  client.on("error", (error: NodeJS.ErrnoException) => (heard.end ||= error.code ?? ""));
  client.on("end", () => (heard.end ||= "end"));
  const closing = opened.move();
  return { client, clock, heard, limits, carriedOut, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

const write = (client: Socket, bytes: string | Buffer) =>
  new Promise<void>((resolve) => client.write(bytes, () => resolve()));

describe("a client of a page that sends malformed requests", () => {
  it.each([
    { what: "no HTTP", bytes: "nonsense\r\n\r\n", status: 400 },
    { what: "a head that is too long", bytes: `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}`, status: 431 },
    { what: "a malformed body behind its response", bytes: `${chunkedHead}z`, status: 200 },
  ])("gets status $status for $what, although it sends on", async ({ bytes, status }) => {
    await using lab = await given();
    const { client, heard, limits } = lab;
    client.pause(); // it reads nothing before it has sent all
    await write(client, bytes);
    for (let count = 0; count < 30; count += 1) await write(client, Buffer.alloc(100_000, "x"));
    client.resume();
    await eventually(() => heard.end !== "");
    expect(heard.end).toBe("end");
    expect(heard.text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    client.end();
    await eventually(() => limits.size === 0);
  });

  it("is cut off at once within its response, which ends with no other status", async () => {
    await using lab = await given();
    const { client, heard, limits } = lab;
    client.write(chunkedHead.replace("early", "begun"));
    await eventually(() => heard.text.includes("a part"));
    client.write("z");
    await eventually(() => limits.size === 0);
    expect(heard.text).toMatch(/\r\na part\r\n$/); // the last chunk is missing
  });

  it("is closed after 5 s, if it does not end its side", async () => {
    await using lab = await given();
    await write(lab.client, "nonsense\r\n\r\n");
    await eventually(() => lab.heard.end === "end");
    await lab.clock.advance(4_999);
    expect(lab.limits.size).toBe(1);
    await lab.clock.advance(1);
    await eventually(() => lab.limits.size === 0);
    expect(lab.clock.pending).toBe(0);
  });

  it("is closed after 8 MiB", async () => {
    await using lab = await given();
    lab.client.write("nonsense\r\n\r\n");
    for (let sent = 0; !lab.client.destroyed && sent < 100; sent += 1) await write(lab.client, Buffer.alloc(1_048_576));
    await eventually(() => lab.limits.size === 0);
    expect(lab.clock.pending).toBe(0);
  });
});

const begun = "POST /late HTTP/1.1\r\nHost: a\r\n";
const late = [
  { what: "head", limit: { headersTimeout: 50 }, first: begun, rest: "Content-Length: 2\r\n\r\nok" },
  {
    what: "body",
    limit: { headersTimeout: 50, requestTimeout: 50 },
    first: `${begun}Content-Length: 2\r\n\r\no`,
    rest: "k",
  },
];

describe("a request that took too long", () => {
  it.each(late)("gets 408, and is not carried out when the rest of its $what comes", async ({ limit, first, rest }) => {
    await using lab = await given(limit);
    const { client, heard, limits, carriedOut } = lab;
    client.write(first);
    await eventually(() => heard.end === "end");
    expect(heard.text).toMatch(/^HTTP\/1.1 408 /);
    client.end(`${rest}GET /next HTTP/1.1\r\nHost: a\r\n\r\n`);
    await eventually(() => limits.size === 0);
    expect(carriedOut).toEqual([]);
    expect(heard).toMatchObject({ text: expect.not.stringContaining("fine"), end: "end" });
  });

  it.each(late)("is closed after 8 MiB more, if its $what was late", async ({ limit, first, rest }) => {
    await using lab = await given(limit);
    const { client, clock, heard, limits } = lab;
    client.write(first);
    await eventually(() => heard.end === "end");
    client.write(rest);
    for (let sent = 0; !client.destroyed && sent < 100; sent += 1) await write(client, Buffer.alloc(1_048_576));
    await eventually(() => limits.size === 0);
    expect(clock.pending).toBe(0);
  });

  it("is read on, although nothing had read its body before it got 408", async () => {
    await using lab = await given({ headersTimeout: 50, requestTimeout: 50 });
    const { client, clock, heard, limits } = lab;
    client.write("POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n");
    client.write(Buffer.alloc(200_000)); // Node stops to read
    await eventually(() => heard.end === "end");
    for (let sent = 0; !client.destroyed && sent < 7; sent += 1) await write(client, Buffer.alloc(1_048_576));
    client.end();
    await eventually(() => limits.size === 0);
    expect(heard).toMatchObject({ text: expect.stringContaining(" 408 "), end: "end" });
    expect(clock.pending).toBe(0);
  });
});

describe("a client whose TLS handshake fails", () => {
  it.each([
    { what: "because it is silent", bytes: "" },
    { what: "because it sends no TLS", bytes: "GET / HTTP/1.1\r\nHost: a\r\n\r\n" },
  ])("is closed at once, $what", async ({ bytes }) => {
    await using lab = await given({}, { handshakeTimeout: 50 });
    const { client, clock, limits } = lab;
    client.write(bytes);
    await eventually(() => client.destroyed || client.readableEnded);
    await eventually(() => limits.size === 0);
    expect(clock.pending).toBe(0);
  });
});
