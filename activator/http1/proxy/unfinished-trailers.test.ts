import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, hear, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";
import { clientsUntilShed } from "../../../test/support/sockets/clients-until-shed.ts";

const trailers = `0\r\nA: ${"a".repeat(6_000)}`;
const request = `POST / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${trailers}`;
const response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n";
const ask = "GET / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\n\r\n";
/** Room for a few such trailers. */
const unfinishedHeadBytesMax = 100_000;

/** A sandbox that answers a request once it has all of it. */
const openAnswering = () =>
  openBackend((socket) => {
    let heard = "";
    socket.on("data", (bytes: Buffer) => {
      heard += bytes.toString("latin1");
      if (heard.endsWith("\r\n\r\n") && heard.includes("\r\n0\r\n")) socket.end(`${response}0\r\n\r\n`);
    });
  });

describe("trailers of requests that are not finished", () => {
  it("beyond the memory limit of heads lose the oldest, whose client gets status 408", async () => {
    await using backend = await openAnswering();
    await using proxyPath = await openProxyPath(backend.port, { unfinishedHeadBytesMax });
    const clients = await clientsUntilShed(proxyPath, request, 20);
    expect(proxyPath.unfinishedHeads.shed).toBe(1);
    expect(await clients[0]?.heard).toMatch(/^HTTP\/1.1 408 /);
    for (const { client } of clients.slice(1)) client.write("\r\n\r\n");
    for (const { heard } of clients.slice(1)) expect(await heard).toMatch(/^HTTP\/1.1 200 .*ok/s);
    await proxyPath.empty();
    expect(proxyPath.unfinishedHeads.shed).toBe(1);
  });

  it("beyond that limit cut a response that has begun, and add no error to it", async () => {
    await using backend = await openBackend((socket) => socket.once("data", () => socket.write(response)));
    await using proxyPath = await openProxyPath(backend.port, { unfinishedHeadBytesMax });
    const oldest = await dialled(proxyPath.port);
    const heard = hear(oldest);
    let begun = "";
    oldest.on("data", (bytes: Buffer) => (begun += bytes.toString("latin1")));
    oldest.write(request);
    await eventually(() => begun.endsWith("ok\r\n"));
    const others = await clientsUntilShed(proxyPath, request, 20);
    expect(await heard).toBe(begun);
    for (const { client } of others) client.destroy();
    await proxyPath.empty();
  });

  it("free their memory when they finish, are refused, or their clients leave", async () => {
    await using backend = await openAnswering();
    await using proxyPath = await openProxyPath(backend.port, { unfinishedHeadBytesMax });
    for (const [rest, status] of [
      ["\r\n\r\n", 200],
      ["\0", 400],
      ["", undefined],
    ] as const) {
      const before = proxyPath.unfinishedHeads.begun;
      const client = await dialled(proxyPath.port);
      const heard = hear(client);
      client.write(request);
      await eventually(() => proxyPath.unfinishedHeads.begun > before);
      if (status === undefined) client.destroy();
      else {
        client.write(rest);
        expect(await heard).toContain(`HTTP/1.1 ${status} `);
      }
      await proxyPath.empty();
    }
    expect(proxyPath.unfinishedHeads.shed).toBe(0);
  });

  it("free their memory when their request expects the impossible", async () => {
    await using backend = await openAnswering();
    await using proxyPath = await openProxyPath(backend.port, { unfinishedHeadBytesMax });
    const client = await dialled(proxyPath.port);
    const heard = hear(client);
    client.write(request.replace("Connection: close", "Expect: wonders"));
    expect(await heard).toMatch(/^HTTP\/1.1 417 /);
    expect(proxyPath.unfinishedHeads.begun).toBe(1);
    await proxyPath.empty();
  });
});

describe("trailers of responses that are not finished", () => {
  it("beyond the memory limit of heads lose the oldest, whose client's connection is cut", async () => {
    const finishers: (() => void)[] = [];
    await using backend = await openBackend((socket) =>
      socket.once("data", () => {
        finishers.push(() => void socket.end("\r\n\r\n"));
        socket.write(response + trailers);
      }),
    );
    await using proxyPath = await openProxyPath(backend.port, { unfinishedHeadBytesMax });
    const clients = await clientsUntilShed(proxyPath, ask, 20);
    expect(proxyPath.unfinishedHeads.shed).toBe(1);
    expect(await clients[0]?.heard).toMatch(/^HTTP\/1.1 200 .*ok\r\n(0\r\n)?$/s);
    for (const finish of finishers) finish();
    for (const { heard } of clients.slice(1))
      expect(await heard).toMatch(/^HTTP\/1.1 200 .*ok\r\n0\r\nA: a+\r\n\r\n$/s);
    await proxyPath.empty();
  });
});
