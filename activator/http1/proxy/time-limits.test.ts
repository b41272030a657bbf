import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../lib/time/clock.ts";
import { dialled, openBackend, openProxyPath, type ProxyPathOptions } from "../../../test/support/proxy-path.ts";

const begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
const switched = "HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: anything\r\n\r\n";
const get = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";
const upgrade = "GET / HTTP/1.1\r\nHost: nova\r\nConnection: Upgrade\r\nUpgrade: anything\r\n\r\n";

/** Sends a byte often enough that no pause is long. */
function dribble(socket: Socket, bytes: string): void {
  if (!socket.writable) return;
  socket.write(bytes);
  void systemClock.sleep(20).then(() => dribble(socket, bytes));
}

interface Visit {
  readonly options: ProxyPathOptions;
  readonly request: string;
  readonly serve: (socket: Socket) => void;
}

/** What a client was sent until its connection was closed, and after how many milliseconds that was. */
async function visit({ options, request, serve }: Visit) {
  await using backend = await openBackend((socket) => void socket.once("data", () => serve(socket)));
  await using proxyPath = await openProxyPath(backend.port, options);
  const client = await dialled(proxyPath.port);
  const ended = new Promise<void>((resolve) => {
    for (const event of ["error", "end", "close"]) client.once(event, () => resolve());
  });
  let heard = "";
  client.on("data", (bytes: Buffer) => (heard += bytes.toString("latin1")));
  const beganMs = systemClock.ticksMs();
  client.write(request);
  await ended;
  const tookMs = systemClock.ticksMs() - beganMs;
  client.destroy();
  await proxyPath.empty();
  return { heard, tookMs };
}

describe("an exchange that takes too long is closed on both sides", () => {
  it.each<Visit & { readonly what: string }>([
    {
      what: "a pause in its response",
      options: { streamIdleMs: 300 },
      request: get,
      serve: (socket) => void socket.write(begun),
    },
    {
      what: "its whole time, whatever moves",
      options: { totalMs: 300 },
      request: get,
      serve: (socket) => {
        socket.write(begun);
        dribble(socket, "1\r\nx\r\n");
      },
    },
    {
      what: "its whole time, while its client sends no more of its body",
      options: { totalMs: 300 },
      request: "POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: 100\r\n\r\nx",
      serve: (socket) => void socket.write(begun),
    },
    {
      what: "a pause in its tunnel",
      options: { tunnelIdleMs: 300 },
      request: upgrade,
      serve: (socket) => void socket.write(switched),
    },
    {
      what: "the life of its tunnel, whatever moves",
      options: { tunnelLifetimeMs: 300 },
      request: upgrade,
      serve: (socket) => {
        socket.write(switched);
        dribble(socket, "x");
      },
    },
  ])("$what", async ({ options, request, serve }) => {
    const { heard, tookMs } = await visit({ options, request, serve });
    expect(heard).toMatch(/^HTTP\/1.1 (200|101)/);
    expect(tookMs).toBeGreaterThan(290);
  });

  it("and continues while bytes move, if only pauses are limited", async () => {
    const options = { streamIdleMs: 200, tunnelIdleMs: 200 };
    const serve = (socket: Socket) => {
      socket.write(begun);
      dribble(socket, "1\r\nx\r\n");
      void systemClock.sleep(600).then(() => socket.destroy());
    };
    expect((await visit({ options, request: get, serve })).tookMs).toBeGreaterThan(590);
  });
});
