import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { type EchoServer, startEchoServer } from "../../../test/support/grpc/echo-service.ts";
import {
  connectOverHttp1,
  connectOverHttp2,
  grpcWebText,
  stringValues,
  type WebClient,
  type WebServer,
} from "../../../test/support/grpc/web-clients.ts";
import { openProxyPath, type ProxyPath, type ProxyPathOptions } from "../../../test/support/proxy-path.ts";

const clients: readonly (readonly [string, (server: WebServer) => WebClient])[] = [
  ["binary over HTTP/1.1", connectOverHttp1],
  ["binary over HTTP/2", connectOverHttp2],
  ["base64 over HTTP/1.1", grpcWebText],
];

type Use = (parts: { client: WebClient; server: EchoServer; path: ProxyPath }) => Promise<void>;

async function withEcho(open: (server: WebServer) => WebClient, use: Use, options: ProxyPathOptions = {}) {
  await using server = await startEchoServer(0, "127.0.0.1", stringValues);
  await using path = await openProxyPath(server.port, options);
  {
    using client = open(path);
    await use({ client, server, path });
  }
}

describe.each(clients)("a call of gRPC-Web, %s,", (_, open) => {
  it("is a call of gRPC to its sandbox, with metadata and last metadata", async () => {
    await withEcho(open, async ({ client, server, path }) => {
      const { messages, code, head, end } = await client.call("Unary", "hello", { headers: { "x-key": "value" } });
      expect([messages, code]).toEqual([["hello"], 0]);
      expect(head).toMatchObject({ "x-begin": "here" });
      expect(end).toMatchObject({ "x-end": "done", "x-end-bin": "AP8H" });
      expect(server.seen.metadata[0]?.get("x-key")).toEqual(["value"]);
      expect(path.sessions).toBe(1);
    });
  });

  it("gets the messages of a stream", async () => {
    await withEcho(open, async ({ client }) => {
      const { messages, code } = await client.call("ServerStream", "n");
      expect([messages, code]).toEqual([["n0", "n1", "n2", "n3", "n4"], 0]);
    });
  });

  it("ends with the status of its sandbox", async () => {
    await withEcho(open, async ({ client }) => {
      const { code, details, end } = await client.call("Unary", "fail");
      expect([code, details]).toEqual([9, "not so: 100 % é"]);
      expect(end).toMatchObject({ "x-end": "done" });
    });
  });

  it("carries large messages both ways", async () => {
    await withEcho(open, async ({ client }) => {
      const big = "z".repeat(2_000_000);
      const { messages, code } = await client.call("Unary", big);
      expect([code, messages[0] === big]).toEqual([0, true]);
    });
  });
});

describe.each(clients.slice(0, 2))("a stream of gRPC-Web, %s,", (_, open) => {
  it("brings each message as it comes, and is cancelled at its sandbox if its client leaves", async () => {
    await withEcho(open, async ({ client, server, path }) => {
      const seen: string[] = [];
      const leaving = new AbortController();
      const { promise: allSeen, resolve } = Promise.withResolvers<void>();
      const onMessage = (message: string) => {
        seen.push(message);
        if (message === "stay4") resolve();
      };
      const outcome = client.call("ServerStream", "stay", { onMessage, signal: leaving.signal });
      await allSeen;
      expect(seen).toEqual(["stay0", "stay1", "stay2", "stay3", "stay4"]);
      leaving.abort();
      expect((await outcome).code).toBe(1);
      await eventually(() => server.seen.cancelled === 1 && path.ends.length === 1);
    });
  });

  it("tells its sandbox how much of its time is left, and ends when that is over", async () => {
    await withEcho(open, async ({ client, server }) => {
      expect((await client.call("Unary", "hello", { timeoutMs: 30_000 })).code).toBe(0);
      const [leftMs = 0] = server.seen.deadlines;
      expect(leftMs).toBeLessThanOrEqual(30_000);
      expect(leftMs).toBeGreaterThan(20_000);
      expect((await client.call("Unary", "wait", { timeoutMs: 300 })).code).toBe(4);
    });
  });
});
