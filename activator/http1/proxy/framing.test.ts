import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, hear, openBackend, openProxyPath, say } from "../../../test/support/proxy-path.ts";

const chunked =
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3;a\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n";
const unframed = "HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\nabcde";
const ofLength =
  "HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nKeep-Alive: timeout=9\r\nConnection: keep-alive, X-B\r\nX-B: 1\r\n\r\nabcde";

const cases: readonly (readonly [what: string, version: string, answer: string, heard: string])[] = [
  [
    "chunks to HTTP/1.1, without extensions",
    "1.1",
    chunked,
    "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n",
  ],
  ["data alone to HTTP/1.0", "1.0", chunked, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcde"],
  [
    "chunks to HTTP/1.1 where the sandbox names no length",
    "1.1",
    unframed,
    "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
  ],
  [
    "no length to HTTP/1.0 if the sandbox sends none",
    "1.0",
    unframed,
    "HTTP/1.1 200 OK\r\nX-A: 1\r\nConnection: close\r\n\r\nabcde",
  ],
  [
    "an unchanged length, and no field of the connection to the sandbox",
    "1.0",
    ofLength,
    "HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde",
  ],
];

describe("a response", () => {
  it.each(cases)("goes out as %s", async (_, version, answer, heard) => {
    await using backend = await openBackend((socket) => socket.on("data", () => socket.end(answer)));
    await using proxyPath = await openProxyPath(backend.port);
    const close = version === "1.1" ? "Connection: close\r\n" : "";
    expect(await say(proxyPath.port, `GET / HTTP/${version}\r\nHost: nova\r\n${close}\r\n`)).toBe(heard);
  });

  it.each([
    { fields: 256, status: 200 },
    { fields: 257, status: 502 },
  ])("with $fields fields has status $status for the client", async ({ fields, status }) => {
    const answer = `HTTP/1.1 200 OK\r\nContent-Length: 0\r\n${"X-A: 1\r\n".repeat(fields - 1)}\r\n`;
    await using backend = await openBackend((socket) => socket.on("data", () => socket.end(answer)));
    await using proxyPath = await openProxyPath(backend.port);
    const heard = await say(proxyPath.port, "GET / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\n\r\n");
    expect(heard).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it("to an HTTP/1.0 client with keep-alive leaves the connection open", async () => {
    await using backend = await openBackend((socket) => socket.on("data", () => socket.write(ofLength)));
    await using proxyPath = await openProxyPath(backend.port);
    const socket = await dialled(proxyPath.port);
    const over = hear(socket);
    socket.write("GET / HTTP/1.0\r\nHost: nova\r\nConnection: keep-alive\r\n\r\n");
    socket.once("data", () => socket.write("GET / HTTP/1.0\r\nHost: nova\r\n\r\n"));
    const heads = (await over).split("abcde");
    expect(heads[0]).toContain("Connection: keep-alive\r\n");
    expect(heads[1]).toContain("Connection: close\r\n");
  });

  it.each([
    ["and goes on", 24, ""],
    ["and has said that this is its last request", 6, "Connection: close\r\n"],
  ])(
    "of many megabytes is whole on the other side of a client that reads in fits and starts %s",
    async (_, pieces, line) => {
      const piece = Buffer.alloc(1_000_000, "0123456789abcdef");
      await using backend = await openBackend((socket) =>
        socket.once("data", () => {
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${piece.length * pieces}\r\n\r\n`);
          for (let left = pieces; left > 0; left -= 1) socket.write(piece);
        }),
      );
      await using proxyPath = await openProxyPath(backend.port);
      const socket = await dialled(proxyPath.port);
      let [bodyBytes, wrong, head] = [0, 0, ""];
      socket.on("data", (bytes: Buffer) => {
        const start = head.endsWith("\r\n\r\n") ? 0 : bytes.indexOf("\r\n\r\n") + 4;
        head += bytes.toString("latin1", 0, start);
        for (let at = start; at < bytes.length; at += 1, bodyBytes += 1) {
          if (bytes[at] !== piece[bodyBytes % piece.length]) wrong += 1;
        }
        if (bodyBytes % 7 === 0) return;
        socket.pause();
        setImmediate(() => setImmediate(() => socket.resume()));
      });
      socket.write(`GET / HTTP/1.1\r\nHost: nova\r\n${line}\r\n`);
      await eventually(() => bodyBytes === piece.length * pieces);
      expect(wrong).toBe(0);
      socket.destroy();
      await proxyPath.empty();
    },
    20_000,
  );
});

describe("pipelined requests", () => {
  it("with bodies of every size arrive in order, each with its own body", async () => {
    const lengths = [0, 1, 5_000, 16_384, 40_000, 70_000, 200_000, 3];
    const seen: number[] = [];
    await using backend = await openBackend((socket) => {
      let [rest, text] = [0, ""];
      socket.on("data", (bytes: Buffer) => {
        text += bytes.toString("latin1");
        for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
          rest = Number(/content-length: (\d+)/i.exec(text)?.[1]);
          const body = text.slice(end + 4, end + 4 + rest);
          if (body.length < rest) return;
          text = text.slice(end + 4 + rest);
          seen.push(/^z*$/.test(body) ? body.length : -1);
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${String(rest).length}\r\n\r\n${rest}`);
        }
      });
    });
    await using proxyPath = await openProxyPath(backend.port);
    const requests = lengths.map(
      (length, at) =>
        `PUT / HTTP/1.1\r\nHost: nova\r\nContent-Length: ${length}\r\n` +
        `${at === lengths.length - 1 ? "Connection: close\r\n" : ""}\r\n${"z".repeat(length)}`,
    );
    const heard = await say(proxyPath.port, requests.join(""));
    expect(seen).toEqual(lengths);
    expect([...heard.matchAll(/\r\n\r\n(\d+)/g)].map(([, length]) => Number(length))).toEqual(lengths);
    await proxyPath.empty();
  });
});
