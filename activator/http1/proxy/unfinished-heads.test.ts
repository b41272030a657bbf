import { describe, expect, it } from "vitest";
import { dialled, openBackend, openProxyPath, say } from "../../../test/support/proxy-path.ts";
import { clientsUntilShed } from "../../../test/support/sockets/clients-until-shed.ts";

const beginning = `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: ${"a".repeat(12_000)}`;
const ask = "GET / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\n\r\n";
/** Room for a few such heads. */
const unfinishedHeadBytesMax = 100_000;

describe("unfinished heads of responses", () => {
  it("beyond their memory limit lose the oldest, whose request gets 502", async () => {
    const finishers: (() => void)[] = [];
    await using backend = await openBackend((socket) =>
      socket.once("data", () => {
        finishers.push(() => void socket.end("\r\n\r\nok"));
        socket.write(beginning);
      }),
    );
    await using proxyPath = await openProxyPath(backend.port, { unfinishedHeadBytesMax });
    const clients = await clientsUntilShed(proxyPath, ask, 10);
    expect(proxyPath.unfinishedHeads.shed).toBe(1);
    expect(await clients[0]?.heard).toMatch(/^HTTP\/1.1 502 /);
    expect(proxyPath.refusals).toEqual(["ResponseLost"]);
    for (const finish of finishers) finish();
    for (const { heard } of clients.slice(1)) expect(await heard).toMatch(/^HTTP\/1.1 200 .*ok$/s);
    await proxyPath.empty();
  });

  it("free their memory when they finish, and when the sandbox or the client leaves", async () => {
    const leave = [" \r\n\r\nok", ""];
    await using backend = await openBackend((socket) =>
      socket.once("data", () => {
        socket.write(beginning, () => setImmediate(() => void socket.end(leave.shift() ?? "")));
      }),
    );
    await using proxyPath = await openProxyPath(backend.port, { unfinishedHeadBytesMax });
    expect(await say(proxyPath.port, ask)).toMatch(/^HTTP\/1.1 200 /);
    expect(await say(proxyPath.port, ask)).toMatch(/^HTTP\/1.1 502 /);
    const client = await dialled(proxyPath.port);
    client.write(ask);
    client.destroy();
    await proxyPath.empty();
  });
});
