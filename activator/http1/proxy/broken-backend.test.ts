import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { openBackend, openProxyPath, say } from "../../../test/support/proxy-path.ts";

const ask = "POST /once HTTP/1.1\r\nHost: nova\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

interface Answer {
  readonly what: string;
  readonly wire: string;
  /** What a client gets of the whole of it. */
  readonly body: string;
  /** Whether its end is the connection's, so that a cut by FIN is indistinguishable from a complete response. */
  readonly endsWithConnection: boolean;
}

const answers: readonly Answer[] = [
  {
    what: "a length",
    wire: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 7\r\n\r\nanswers",
    body: "answers",
    endsWithConnection: false,
  },
  {
    what: "chunks and a trailer",
    wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nansw\r\n3\r\ners\r\n0\r\nX-Sum: 1\r\n\r\n",
    body: "4\r\nansw\r\n3\r\ners\r\n0\r\nX-Sum: 1\r\n\r\n",
    endsWithConnection: false,
  },
  {
    what: "no length",
    wire: "HTTP/1.1 200 OK\r\n\r\nanswers",
    body: "7\r\nanswers\r\n0\r\n\r\n",
    endsWithConnection: true,
  },
];

const breaks: readonly { readonly how: string; readonly leave: (socket: Socket) => void }[] = [
  { how: "ends", leave: (socket) => void socket.end() },
  { how: "resets", leave: (socket) => void socket.resetAndDestroy() },
];

describe.each(answers)("a back-end whose answer has $what", ({ wire, body, endsWithConnection }) => {
  it.each(breaks)(
    "and that $how the connection at any byte is asked once, and its client never misled",
    async (how) => {
      let [cut, seen] = [0, 0];
      await using backend = await openBackend((socket) =>
        socket.once("data", () => {
          seen += 1;
          if (cut === 0) return how.leave(socket);
          socket.write(Buffer.from(wire.slice(0, cut), "latin1"), () => setImmediate(() => how.leave(socket)));
        }),
      );
      await using proxyPath = await openProxyPath(backend.port);
      const headEnd = wire.lastIndexOf("HTTP/1.1 200");
      const head = wire.indexOf("\r\n\r\n", headEnd) + 4;
      for (cut = 0; cut < wire.length; cut += 1) {
        const heard = (await say(proxyPath.port, ask)).replace("HTTP/1.1 100 Continue\r\n\r\n", "");
        if (cut < head) expect(heard, `cut at ${cut}`).toMatch(/^(HTTP\/1.1 502 [\s\S]*ResponseLost)/);
        else if (!endsWithConnection || how.how === "resets")
          expect(heard.endsWith(`\r\n\r\n${body}`), heard).toBe(false);
      }
      expect(seen).toBe(wire.length);
      await proxyPath.empty();
      expect(proxyPath.ends).toHaveLength(wire.length);
    },
  );

  it("and that then ends the connection is read to its end", async () => {
    await using backend = await openBackend((socket) => socket.once("data", () => socket.end(wire, "latin1")));
    await using proxyPath = await openProxyPath(backend.port);
    const heard = await say(proxyPath.port, ask);
    expect(heard.slice(heard.lastIndexOf("HTTP/1.1 200"))).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(heard.endsWith(`\r\n\r\n${body}`), heard).toBe(true);
    await proxyPath.empty();
  });
});

describe("a back-end that closes the connection during a request", () => {
  it.each(breaks)("and $how the connection after any byte of the request gets it once", async ({ leave }) => {
    let [until, seen] = [0, 0];
    await using backend = await openBackend((socket) => {
      seen += 1;
      let read = 0;
      socket.on("data", (bytes: Buffer) => {
        read += bytes.length;
        if (read >= until) leave(socket);
      });
    });
    await using proxyPath = await openProxyPath(backend.port);
    const size = 60_000;
    const body = "x".repeat(size);
    let asked = 0;
    for (until = 1; until < size; until = Math.ceil(until * 1.7)) {
      asked += 1;
      const big = `POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: ${size}\r\nConnection: close\r\n\r\n${body}`;
      expect(await say(proxyPath.port, big)).toMatch(/^HTTP\/1.1 502 /);
    }
    expect(seen).toBe(asked);
    await proxyPath.empty();
  });

  it("in the middle of many megabytes leaks no buffer", async () => {
    await using backend = await openBackend((socket) => {
      let read = 0;
      socket.on("data", (bytes: Buffer) => {
        read += bytes.length;
        if (read > 3_000_000) socket.destroy();
      });
    });
    await using proxyPath = await openProxyPath(backend.port);
    const size = 16 * 1024 * 1024;
    // All of it may have been read before the hang-up is seen, and then the connection could serve another request.
    const head = `PUT / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\nContent-Length: ${size}\r\n\r\n`;
    await say(proxyPath.port, head + "x".repeat(size));
    await proxyPath.empty();
  });
});
