import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { asSocket, FakeWire } from "../../../test/http1/schedules/fake-wire.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openProxyPath, openStrictBackend } from "../../../test/support/proxy-path.ts";
import { BufferLoans } from "../../socket/read-place.ts";
import { RequestHeadParser } from "../parse/request-head-parser.ts";
import { ClientConnection } from "./client-connection.ts";
import type { ConnectionHost } from "./connection-host.ts";
import { HeadBudget } from "./head-budget.ts";
import { LingeringClients } from "./lingering.ts";

/** The peers of all requests, as the rest of the activator sees them. */
function hostOf(peers: string[]): ConnectionHost {
  const parser = new RequestHeadParser();
  return {
    ...{ parser, loans: new BufferLoans(0), heads: new HeadBudget(), draining: false, accepting: true },
    lingering: new LingeringClients(),
    ...{ headersTimeoutMs: 0, keepAliveTimeoutMs: 0, streamIdleMs: 0, nowMs: () => 0, giveParser: () => parser },
    began: ({ head }) => void peers.push(head.peer),
    ...{ ended() {}, refused() {}, yielded: () => false, closed() {} },
  };
}

it.each([
  { remoteAddress: "::ffff:10.0.0.5", peer: "10.0.0.5" },
  { remoteAddress: "2002:a00:5::1", peer: "2002:a00:5::1" },
  { remoteAddress: "64:ff9b::a00:5", peer: "64:ff9b::a00:5" },
  { remoteAddress: "::10.0.0.5", peer: "::10.0.0.5" },
])("a request from $remoteAddress is one of $peer", ({ remoteAddress, peer }) => {
  const peers: string[] = [];
  const wire = Object.assign(new FakeWire(), { remoteAddress });
  wire.reader = new ClientConnection(asSocket(wire), hostOf(peers));
  wire.readOn();
  wire.send(Buffer.from("GET / HTTP/1.1\r\nHost: nova\r\n\r\n"));
  wire.deliver(1_000);
  expect(peers).toEqual([peer]);
});

/** A program that sends a request and resets the connection. */
const hastyClient = `
  const socket = require("node:net").connect(+process.argv[1], "127.0.0.1");
  socket.on("connect", () => socket.write("GET / HTTP/1.1\\r\\nHost: nova\\r\\n\\r\\n", () => socket.resetAndDestroy()));
`;

it("a client that was gone before its connection was accepted is closed, and its request is dropped", async () => {
  let requests = 0;
  await using backend = await openStrictBackend("HTTP/1.1 204 Gone\r\n\r\n", () => (requests += 1));
  await using proxyPath = await openProxyPath(backend.port);
  execFileSync(process.execPath, ["-e", hastyClient, String(proxyPath.port)]); // meanwhile this process accepts nothing
  await eventually(() => proxyPath.connections.opened === 1 && proxyPath.connections.open === 0);
  await proxyPath.empty();
  expect(proxyPath.ends).toEqual([]);
  expect(requests).toBe(0);
});
