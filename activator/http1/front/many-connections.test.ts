import { describe, expect, it } from "vitest";
import { Random } from "../../../test/http1/random.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, hear, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

/** Hundreds of connections. */
const rounds = 60;

describe("thousands of connections", () => {
  it("opened and closed in every way leak no memory", async () => {
    await using backend = await openBackend((socket) =>
      socket
        .on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
        .on("end", () => socket.end()),
    );
    await using proxyPath = await openProxyPath(backend.port);
    const random = new Random(1);
    const get = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";
    const once = async () => {
      const socket = await dialled(proxyPath.port);
      const over = hear(socket);
      switch (random.below(6)) {
        case 0:
          socket.end();
          break;
        case 1:
          socket.resetAndDestroy();
          break;
        case 2:
          socket.write(get.slice(0, 1 + random.below(get.length - 1)), () => socket.resetAndDestroy());
          break;
        case 3:
          socket.end(get);
          break;
        case 4:
          socket.write(get, () => socket.destroy());
          break;
        default:
          socket.write(get);
          socket.once("data", () => socket.end());
      }
      await over;
    };
    for (let round = 0; round < rounds; round += 1) await Promise.all(Array.from({ length: 100 }, once));
    await proxyPath.empty();
    expect(backend.open).toBeLessThanOrEqual(20);
  }, 60_000);

  it("beyond the limit are closed unread, and counted", async () => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port, { maxConnections: 10 });
    const sockets = await Promise.all(Array.from({ length: 15 }, () => dialled(proxyPath.port)));
    await eventually(() => proxyPath.connections.dropped === 5);
    expect(proxyPath.connections.open).toBe(10);
    for (const socket of sockets) socket.destroy();
    await proxyPath.empty();
  });
});

describe("a silent connection", () => {
  it("is closed without a response before its first byte, and with 408 within a head", async () => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port, { headersTimeoutMs: 200 });
    const [silent, slow] = await Promise.all([dialled(proxyPath.port), dialled(proxyPath.port)]);
    slow.write("GET / HTTP/1.1\r\nHo");
    expect(await hear(silent)).toBe("");
    expect(await hear(slow)).toMatch(/^HTTP\/1.1 408 /);
    await proxyPath.empty();
  });

  it("is closed at the idle limit after a response", async () => {
    await using backend = await openBackend((socket) =>
      socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")),
    );
    await using proxyPath = await openProxyPath(backend.port, { keepAliveTimeoutMs: 200 });
    const socket = await dialled(proxyPath.port);
    socket.write("GET / HTTP/1.1\r\nHost: nova\r\n\r\n");
    expect(await hear(socket)).toMatch(/ok$/);
    await proxyPath.empty();
  });
});
