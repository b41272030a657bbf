import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { Message } from "../../../test/http1/wire-reader.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, hear, openProxyPath, openStrictBackend } from "../../../test/support/proxy-path.ts";
import { dialledTls, tls } from "../../../test/support/tls-path.ts";

const request =
  "POST /whole HTTP/1.1\r\nHost: nova\r\nTransfer-Encoding: chunked\r\n\r\n" +
  "5;a=b\r\nhello\r\n3\r\nyou\r\n0\r\nX-Sum: 8\r\n\r\n";

const ways: readonly { readonly how: string; readonly leave: (socket: Socket) => void }[] = [
  { how: "ends its side", leave: (socket) => void socket.end() },
  { how: "resets the connection", leave: (socket) => void socket.resetAndDestroy() },
  { how: "closes", leave: (socket) => void socket.destroy() },
];

const strict = (seen: Message[], answer: string) => openStrictBackend(answer, (requests) => seen.push(...requests));

describe.each(ways)("a client that $how", ({ leave }) => {
  it("at any byte of its request causes no request, and leaks no memory", async () => {
    const seen: Message[] = [];
    await using backend = await strict(seen, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    await using proxyPath = await openProxyPath(backend.port);
    for (let cut = 0; cut < request.length; cut += 1) {
      const socket = await dialled(proxyPath.port);
      const over = hear(socket);
      socket.write(request.slice(0, cut), "latin1", () => leave(socket));
      expect(await over).not.toMatch(/^HTTP\/1.1 200/);
    }
    await proxyPath.empty();
    await eventually(() => backend.open === 0);
    expect(seen).toEqual([]);
  });

  it("at any byte of a long response leaks no memory, and the next client gets its own response", async () => {
    const seen: Message[] = [];
    const body = "y".repeat(300_000);
    await using backend = await strict(seen, `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await using proxyPath = await openProxyPath(backend.port);
    for (let until = 1; until < body.length; until = Math.ceil(until * 2.3)) {
      const socket = await dialled(proxyPath.port);
      let read = 0;
      socket.on("data", (bytes: Buffer) => {
        read += bytes.length;
        if (read >= until) leave(socket.removeAllListeners("data").pause());
      });
      socket.write("GET / HTTP/1.1\r\nHost: nova\r\n\r\n");
      await eventually(() => read >= until);
      socket.destroy();
    }
    const last = await dialled(proxyPath.port);
    last.write("GET / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\n\r\n");
    expect((await hear(last)).split("\r\n\r\n")[1]).toBe(body);
    await proxyPath.empty();
  });
});

describe.each([
  { how: "in the open", options: {}, dial: dialled },
  { how: "encrypted", options: { tls }, dial: dialledTls },
])("half a connection, $how,", ({ options, dial }) => {
  it("is answered, also with pipelined requests", async () => {
    const seen: Message[] = [];
    await using backend = await strict(seen, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    await using proxyPath = await openProxyPath(backend.port, options);
    for (let time = 0; time < 5; time += 1) {
      const socket = await dial(proxyPath.port);
      socket.end("GET / HTTP/1.1\r\nHost: nova\r\n\r\nGET /2 HTTP/1.1\r\nHost: nova\r\n\r\n");
      expect((await hear(socket)).match(/ok/g)).toHaveLength(2);
    }
    await proxyPath.empty();
  });
});
