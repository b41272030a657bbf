import { once } from "node:events";
import { connect } from "node:http2";
import { request } from "node:https";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { startPageServer } from "../../lib/net/page-server.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../support/eventually.ts";
import { openProxyPath, openStrictBackend } from "../support/proxy-path.ts";
import { tls } from "../support/tls-path.ts";
import { openUpdatingClient } from "./key-updates.ts";

/** One more than a client may send at once. */
const tooMany = 33;

describe("a client that sends KeyUpdate messages without end", () => {
  it.each(["http/1.1", "h2"])("is cut and counted over %s, and others are served", async (protocol) => {
    await using path = await openProxyPath(9, { tls });
    const flooding = await openUpdatingClient(path.port, protocol);
    const other = await openUpdatingClient(path.port, protocol);
    flooding.sendUpdates(tooMany);
    other.sendUpdates(10);
    await eventually(() => flooding.socket.destroyed);
    expect(path.connections.cut).toBe(1);
    expect(other.socket.destroyed).toBe(false);
    other.socket.destroy();
    await path.empty();
  });

  it("is cut by a server of pages, as by the drain listener and the webhook", async () => {
    const pages = { "/": () => ({ contentType: "text/plain", body: "fine" }) };
    const address = { host: "127.0.0.1", port: 0 };
    await using server = await startPageServer({ name: "the test", address, pages, log: silentLogger, tls });
    const { socket, sendUpdates } = await openUpdatingClient(Number(new URL(server.url).port));
    sendUpdates(tooMany);
    await eventually(() => socket.destroyed);
  });
});

describe("a client over TLS that sends a large body", () => {
  const body = Buffer.alloc(1_000_000);

  it("is not cut over HTTP/2, whose data Node reads itself", async () => {
    await using backend = await openStrictBackend("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    const clock = new FakeClock();
    await using path = await openProxyPath(backend.port, { tls, clock });
    const session = connect(`https://127.0.0.1:${path.port}`, { rejectUnauthorized: false }).on("error", () => {});
    for (let sent = 0; sent < 3; sent += 1) {
      const stream = session.request({ ":method": "POST", ":path": "/" }).end(body);
      const [fields] = await once(stream, "response");
      expect(fields[":status"]).toBe(200);
      await once(stream.resume(), "close");
    }
    await clock.advance(100);
    expect(path.connections).toMatchObject({ opened: 1, open: 1, cut: 0 });
    session.destroy();
  });

  it("gets its response from a server of pages, whose data Node reads itself", async () => {
    const pages = { "/": () => ({ contentType: "text/plain", body: "fine" }) };
    const address = { host: "127.0.0.1", port: 0 };
    const clock = new FakeClock();
    await using server = await startPageServer({ name: "the test", address, pages, log: silentLogger, tls, clock });
    const sent = request(server.url, { method: "POST", rejectUnauthorized: false }).on("error", () => {});
    sent.write(body);
    const [response] = await once(sent, "response");
    await clock.advance(100);
    sent.end();
    await once(response.resume(), "end");
    expect(response.statusCode).toBe(405);
  });
});
