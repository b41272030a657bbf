import { describe, expect, it } from "vitest";
import { openBackend, openProxyPath, say } from "../../../test/support/proxy-path.ts";
import { sayPatiently } from "../../../test/support/sockets/patient-client.ts";

const size = 1024 * 1024;
const upload = `POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: ${size}\r\nConnection: close\r\n\r\n${"x".repeat(size)}`;

const answers: readonly { readonly what: string; readonly wire: string; readonly body: string }[] = [
  { what: "a length", wire: "HTTP/1.1 413 Too Much\r\nContent-Length: 7\r\n\r\nno more", body: "no more" },
  {
    what: "chunks",
    wire: "HTTP/1.1 413 Too Much\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nno more\r\n0\r\n\r\n",
    body: "7\r\nno more\r\n0\r\n\r\n",
  },
];

describe.each(answers)("an answer with $what before its request was read, and a reset behind it", ({ wire, body }) => {
  it("reaches the client whole, however the two meet", async () => {
    await using backend = await openBackend((socket) => {
      socket.once("data", () => {
        socket.pause(); // what lies unread makes its end a reset
        socket.write(wire, "latin1", () => socket.destroy());
      });
    });
    await using proxyPath = await openProxyPath(backend.port);
    for (let time = 0; time < 10; time += 1) {
      const heard = await say(proxyPath.port, upload);
      expect(heard).toMatch(/^HTTP\/1.1 413 Too Much\r\n/);
      expect(heard.endsWith(`\r\n\r\n${body}`), heard).toBe(true);
    }
    await proxyPath.empty();
  });
});

describe("an answer that is cut by a reset while its request is still sent", () => {
  it("becomes an error at once", async () => {
    await using backend = await openBackend((socket) => {
      socket.once("data", () => {
        socket.pause();
        socket.write("HTTP/1.1 200 OK\r\nContent-Le", "latin1", () => socket.destroy());
      });
    });
    await using proxyPath = await openProxyPath(backend.port);
    expect(await say(proxyPath.port, upload)).toMatch(/^HTTP\/1.1 502 /);
    await proxyPath.empty();
  });
});

describe("the last words of a sandbox in a tunnel, and a reset behind them", () => {
  it("reach a client that still sends, however the two meet", async () => {
    const switched = "HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
    await using backend = await openBackend((socket) => {
      socket.once("data", () => {
        socket.write(switched);
        socket.once("data", () => {
          socket.pause();
          socket.write("no more", () => socket.destroy());
        });
      });
    });
    await using proxyPath = await openProxyPath(backend.port);
    const offer = "GET / HTTP/1.1\r\nHost: nova\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
    for (let time = 0; time < 10; time += 1) {
      expect(await sayPatiently(proxyPath.port, offer + "x".repeat(size))).toBe(`${switched}no more`);
    }
    await proxyPath.empty();
  });
});
