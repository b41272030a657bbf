import { describe, expect, it } from "vitest";
import { openBackend, openProxyPath, say } from "../../../test/support/proxy-path.ts";

const ask = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";
const lastAsk = "GET / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\n\r\n";
const final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const processing = "HTTP/1.1 102 Processing\r\n\r\n";
const hints = `HTTP/1.1 103 Early Hints\r\nLink: ${"x".repeat(20_000)}\r\n\r\n`;

const answering = (answer: string) =>
  openBackend((socket) => socket.on("data", () => socket.write(answer, "latin1")).on("end", () => socket.end()));

describe("interim responses to one request", () => {
  it("are followed by the response if they are few", async () => {
    await using backend = await answering(processing.repeat(900) + final);
    await using proxyPath = await openProxyPath(backend.port);
    expect(await say(proxyPath.port, lastAsk)).toMatch(/^HTTP\/1.1 200 .*ok$/s);
  });

  it.each([
    ["by number", processing.repeat(901)],
    ["by size", hints.repeat(4)],
  ])("get 502 beyond their limit %s", async (_, interims) => {
    await using backend = await answering(interims + final);
    await using proxyPath = await openProxyPath(backend.port);
    expect(await say(proxyPath.port, lastAsk)).toMatch(/^HTTP\/1.1 502 /);
    expect(proxyPath.refusals).toEqual(["ResponseLost"]);
    await proxyPath.empty();
  });

  it("do not count for the next request on the same connection", async () => {
    await using backend = await answering(processing.repeat(600) + final);
    await using proxyPath = await openProxyPath(backend.port);
    const heard = await say(proxyPath.port, ask + ask + lastAsk);
    expect(heard.match(/HTTP\/1.1 200 /g)).toHaveLength(3);
    expect(backend.open).toBeLessThanOrEqual(1);
  });
});
