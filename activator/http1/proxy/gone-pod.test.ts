import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const webSocket = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
const ways = [
  { what: "a request without an answer", asks: "", says: "", until: "", hears: "HTTP/1.1 502" },
  {
    what: "a response that is cut short",
    asks: "",
    says: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
    ...{ until: "half", hears: "half" },
  },
  {
    what: "a WebSocket",
    asks: webSocket,
    says: `HTTP/1.1 101 Go\r\n${webSocket}\r\n`,
    ...{ until: "101 Go", hears: "101 Go" },
  },
];

/** A client, and what it has heard. */
async function asking(port: number, headers: string) {
  const socket: Socket = await dialled(port);
  const heard = { text: "", isClosed: false };
  socket.on("data", (bytes) => (heard.text += bytes.toString("latin1")));
  socket
    .on("error", () => {})
    .on("end", () => socket.end())
    .on("close", () => (heard.isClosed = true));
  socket.write(`GET / HTTP/1.1\r\nHost: nova\r\n${headers}\r\n`);
  return heard;
}

describe("a Pod that is seen gone, and whose end never comes", () => {
  it.each(ways)("is awaited for 5 s at most by $what", async ({ asks, says, until, hears }) => {
    const clock = new FakeClock();
    let asked = 0;
    await using backend = await openBackend((socket) => {
      socket.on("end", () => socket.end());
      socket.once("data", () => {
        asked += 1;
        socket.write(says);
      });
    });
    await using proxyPath = await openProxyPath(backend.port, { clock, keepAliveTimeoutMs: 3_600_000 });
    const heard = await asking(proxyPath.port, asks);
    await eventually(() => asked === 1 && heard.text.includes(until));
    await clock.advance(200); // what has moved until now was seen
    proxyPath.podGone();
    await clock.advance(4_900);
    expect(backend.open).toBe(1);
    await clock.advance(300);
    await eventually(() => backend.open === 0 && heard.text.includes(hears));
    if (until !== "") await eventually(() => heard.isClosed);
  });

  it("is read for 30 s, if it still sends", async () => {
    const clock = new FakeClock();
    let sandbox: Socket | undefined;
    await using backend = await openBackend((socket) => {
      socket.on("end", () => socket.end());
      sandbox = socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"));
    });
    await using proxyPath = await openProxyPath(backend.port, { clock });
    const heard = await asking(proxyPath.port, "");
    await eventually(() => heard.text.includes("200 OK"));
    proxyPath.podGone();
    for (let second = 2; second < 30; second += 2) {
      sandbox?.write(`[${second}]`);
      await eventually(() => heard.text.includes(`[${second}]`));
      await clock.advance(2_000);
      expect(heard.isClosed).toBe(false);
    }
    sandbox?.write("last");
    await eventually(() => heard.text.includes("last"));
    await clock.advance(2_300);
    await eventually(() => heard.isClosed && backend.open === 0);
  });
});
