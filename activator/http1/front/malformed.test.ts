import { describe, expect, it } from "vitest";
import { httpProgram, openActivatorWorld, rawConnection } from "../../../test/support/labs/activator-world.ts";

const host = "Host: nova.default.sandbox.localhost\r\n";
const get = `GET / HTTP/1.1\r\n${host}`;
const post = `POST / HTTP/1.1\r\n${host}`;

const malformed: readonly (readonly [what: string, status: number, request: string])[] = [
  ["two Hosts", 400, `${get}Host: other\r\n\r\n`],
  ["no Host", 400, "GET / HTTP/1.1\r\n\r\n"],
  ["a Host that is no host name", 400, "GET / HTTP/1.1\r\nHost: a b@c\r\n\r\n"],
  ["a target that contradicts Host", 400, `GET http://other/ HTTP/1.1\r\n${host}\r\n`],
  ["a target that is no path", 400, `GET nova HTTP/1.1\r\n${host}\r\n`],
  ["a fragment", 400, `GET /#a HTTP/1.1\r\n${host}\r\n`],
  ["a folded header", 400, `${get}X-A: b\r\n c\r\n\r\n`],
  ["two lengths", 400, `${post}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc`],
  ["one length twice", 400, `${post}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`],
  ["a list of lengths", 400, `${post}Content-Length: 3, 3\r\n\r\nabc`],
  ["a signed length", 400, `${post}Content-Length: +3\r\n\r\nabc`],
  ["a length and chunks", 400, `${post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["chunks in HTTP/1.0", 400, `POST / HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["an encoding beside chunked", 400, `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ["two encodings", 400, `${post}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["an encoding that is not chunked", 400, `${post}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n`],
  ["a bare line feed", 400, `GET / HTTP/1.1\n${host}\r\n`],
  ["a bare carriage return", 400, `${get}X-A: b\rX-B: c\r\n\r\n`],
  ["a bad chunk", 400, `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
  ["a space before the colon", 400, `${get}X-A : b\r\n\r\n`],
  ["a control character", 400, `${get}X-A: \u0001\r\n\r\n`],
  ["no version", 400, "GET /\r\n\r\n"],
  ["another version", 400, `GET / HTTP/1.2\r\n${host}\r\n`],
  ["HTTP/2 for a path", 400, "PRI / HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["TLS", 400, "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003"],
  ["a header bomb", 431, `${get}X-A: ${"a".repeat(70_000)}\r\n\r\n`],
  ["many small headers", 431, `${get}${"a: b\r\n".repeat(20_000)}\r\n`],
  ["CONNECT", 405, `CONNECT nova:80 HTTP/1.1\r\n${host}\r\n`],
  ["TRACE", 405, `TRACE / HTTP/1.1\r\n${host}Connection: close\r\n\r\n`],
  ["an unsupported expectation", 417, `${get}Expect: miracles\r\n\r\n`],
  ["a slow head", 408, `${get}X-A: `],
];

describe("a connection that sends", () => {
  it.each(malformed)("%s gets status %i and is closed, and no byte reaches a sandbox", async (_, status, request) => {
    await using world = await openActivatorWorld(["--headers-timeout=300ms"]);
    let seen = 0;
    await world.awake(
      "nova",
      httpProgram((_request, response) => response.end(String(seen++))),
    );
    using connection = await rawConnection(world.activator);
    connection.send(request);
    const answer = await connection.closed();
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [^\r]+\r\n`));
    expect(JSON.parse(answer.split("\r\n\r\n")[1] ?? "")).toEqual({ detail: expect.any(String) });
    expect(answer.match(/^HTTP\/1.1 /gm)).toHaveLength(1);
    expect(seen).toBe(0);
  });

  it("a bad first byte gets status 400, although another connection has sent CONNECT", async () => {
    await using world = await openActivatorWorld();
    using first = await rawConnection(world.activator);
    first.send(`CONNECT nova:80 HTTP/1.1\r\nHost: nova:80\r\n\r\n`);
    expect(await first.closed()).toMatch(/^HTTP\/1.1 405 /);
    using second = await rawConnection(world.activator);
    second.send("\u0016\u0003\u0001");
    expect(await second.closed()).toMatch(/^HTTP\/1.1 400 /);
  });

  it("a bad chunk while it is held gets status 400, and no byte reaches its sandbox", async () => {
    await using world = await openActivatorWorld();
    await world.asleep("nova");
    using connection = await rawConnection(world.activator);
    connection.send(`${post}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
    connection.send("nonsense\r\n");
    expect(await connection.closed()).toMatch(/^HTTP\/1.1 400/);
  });

  it("pipelined requests gets the responses in order", async () => {
    await using world = await openActivatorWorld();
    const order: (string | undefined)[] = [];
    const program = httpProgram((request, response) => {
      order.push(request.url);
      response.end(request.url);
    });
    await world.asleep("nova", program);
    using connection = await rawConnection(world.activator);
    const line = (path: string) => `POST ${path} HTTP/1.1\r\n${host}Content-Length: 2\r\n`;
    connection.send(`${line("/1")}\r\nab${line("/2")}\r\ncd${line("/3")}Connection: close\r\n\r\nef`);
    expect(await connection.closed()).toMatch(/\/1HTTP[\s\S]*\/2HTTP[\s\S]*\/3$/);
    expect(order).toEqual(["/1", "/2", "/3"]);
  });
});
