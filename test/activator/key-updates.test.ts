import { describe, expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { startPageServer } from "../../lib/net/page-server.ts";
import { eventually } from "../support/eventually.ts";
import { openUpdatingClient } from "../support/key-updates.ts";
import { openProxyPath } from "../support/proxy-path.ts";
import { tls } from "../support/tls-path.ts";

/** A KeyUpdate takes 27 bytes: these take more than 64 KiB. */
const tooMany = 2_600;

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

  it("is cut by a server of pages, as by the drain port and the webhook", async () => {
    const pages = { "/": () => ({ contentType: "text/plain", body: "fine" }) };
    const address = { host: "127.0.0.1", port: 0 };
    await using server = await startPageServer({ name: "the test", address, pages, log: silentLogger, tls });
    const { socket, sendUpdates } = await openUpdatingClient(Number(new URL(server.url).port));
    sendUpdates(tooMany);
    await eventually(() => socket.destroyed);
  });
});
