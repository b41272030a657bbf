import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientHttp2Stream } from "node:http2";
import { expect, it } from "vitest";
import { EchoClient, outcomeOf, startEchoServer } from "../../../test/support/grpc/echo-service.ts";
import { openProxyPath } from "../../../test/support/proxy-path.ts";

const channel = "http2.client.stream.created";

it("a connection whose numbers of streams end is replaced, and no call fails", async () => {
  let connections = 0;
  await using server = await startEchoServer();
  await using path = await openProxyPath(server.port);
  using client = new EchoClient(`127.0.0.1:${path.port}`);
  const sessions = new WeakSet<object>();
  const nearTheEnd = (message: unknown) => {
    const { session } = (message as { stream: ClientHttp2Stream }).stream;
    if (!session || session.socket.remotePort !== server.port || sessions.has(session)) return;
    sessions.add(session);
    connections += 1;
    Reflect.apply(Reflect.get(session, "setNextStreamID"), session, [2 ** 31 - 9]);
  };
  subscribe(channel, nearTheEnd);
  try {
    const lasting = client.open("Both"); // so that the connection is never idle
    const ended = outcomeOf(lasting);
    for (let count = 0; count < 12; count += 1) {
      const { code, messages } = await client.call("Unary", [String(count)]);
      expect([code, messages.map(String)]).toEqual([0, [String(count)]]);
    }
    expect(connections).toBeGreaterThan(1);
    lasting.end();
    expect((await ended).code).toBe(0);
  } finally {
    unsubscribe(channel, nearTheEnd);
  }
});
