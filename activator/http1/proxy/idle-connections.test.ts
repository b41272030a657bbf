import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { Random } from "../../../test/http1/random.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath, say } from "../../../test/support/proxy-path.ts";

const get = "GET / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\n\r\n";
const post = (id: number) => `POST /${id} HTTP/1.1\r\nHost: nova\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody`;

describe("the connections of a crowd", () => {
  it("are dialled once for each of 64 requests at a time, in 20 rounds", async () => {
    let dials = 0;
    await using backend = await openBackend((socket) => {
      dials += 1;
      socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"));
    });
    // On a slow machine a round may take more than a second, in which one connection is closed.
    await using proxyPath = await openProxyPath(backend.port, { clock: new FakeClock() });
    const clients = await Promise.all(Array.from({ length: 64 }, () => dialled(proxyPath.port)));
    for (let round = 0; round < 20; round += 1) {
      const answered = clients.map((client) => once(client, "data"));
      for (const client of clients) client.write("GET / HTTP/1.1\r\nHost: nova\r\n\r\n");
      await Promise.all(answered);
    }
    for (const client of clients) client.end();
    await proxyPath.empty();
    expect(proxyPath.ends).toHaveLength(20 * 64);
    expect(dials).toBeLessThanOrEqual(64);
  });
});

/** A back-end that serves the next connection once the last one is closed, as a program with one thread does. */
function openSingleBackend(head: string) {
  const waiting: Socket[] = [];
  const serve = (socket: Socket) => {
    socket.on("data", () => socket.write(`HTTP/1.1 200 OK\r\n${head}Content-Length: 4\r\n\r\ndone`));
    socket.once("end", () => socket.end());
    socket.once("close", () => {
      waiting.shift();
      if (waiting[0]) serve(waiting[0]);
    });
  };
  return openBackend((socket) => {
    if (waiting.push(socket) === 1) serve(socket);
  });
}

describe("a POST behind a GET, to a back-end that serves one connection at a time", () => {
  it.each([
    { what: "idle", polls: 0 },
    { what: "used by other GETs, again and again", polls: 5 },
  ])("waits for a second if the connection of the GET is $what", async ({ polls }) => {
    const clock = new FakeClock();
    await using backend = await openSingleBackend("");
    await using proxyPath = await openProxyPath(backend.port, { clock });
    await say(proxyPath.port, get);
    const client = await dialled(proxyPath.port);
    let heard = "";
    client.on("data", (bytes: Buffer) => (heard += bytes));
    client.write(post(1));
    await eventually(() => backend.open === 2);
    for (let poll = 0; poll < polls; poll += 1) {
      await clock.advance(180);
      await say(proxyPath.port, get);
    }
    await clock.advance(900 - 180 * polls);
    expect([heard, backend.open]).toEqual(["", 2]);
    await clock.advance(200);
    await eventually(() => heard.endsWith("done"));
    client.destroy();
  });

  it("waits for nothing if the back-end states its timeout", async () => {
    await using backend = await openSingleBackend("Keep-Alive: timeout=5\r\n");
    await using proxyPath = await openProxyPath(backend.port, { clock: new FakeClock() });
    await say(proxyPath.port, get);
    expect(await say(proxyPath.port, post(1))).toMatch(/done$/);
    expect(backend.open).toBe(1);
  });
});

describe("idle connections that close under us", () => {
  it("lose and repeat no POST with a back-end that announces its timeout", async () => {
    const seen = new Map<string, number>();
    const server = createServer({ keepAliveTimeout: 1_000, keepAliveTimeoutBuffer: 0 }, (request, response) => {
      seen.set(request.url ?? "", (seen.get(request.url ?? "") ?? 0) + 1);
      request.resume().on("end", () => response.end("done"));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await using proxyPath = await openProxyPath((server.address() as AddressInfo).port);
    const random = new Random(7);
    const answers: string[] = [];
    await Promise.all(
      Array.from({ length: 20 }, async (_, client) => {
        for (let turn = 0; turn < 8; turn += 1) {
          // Around the time at which the server closes, and we do.
          await new Promise((resolve) => setTimeout(resolve, 300 + random.below(800)));
          answers.push(await say(proxyPath.port, post(client * 100 + turn)));
        }
      }),
    );
    expect(answers.filter((answer) => !/^HTTP\/1.1 200 OK[\s\S]*done/.test(answer))).toEqual([]);
    expect([...seen.values()].every((times) => times === 1) && seen.size).toBe(160);
    server.closeAllConnections();
    server.close();
    await proxyPath.empty();
  }, 20_000);

  it("lose no POST with a back-end that closes after each response unannounced", async () => {
    let seen = 0;
    await using backend = await openBackend((socket) =>
      socket.on("data", () => {
        seen += 1;
        socket.end("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
      }),
    );
    await using proxyPath = await openProxyPath(backend.port);
    const answers = await Promise.all(Array.from({ length: 200 }, (_, id) => say(proxyPath.port, post(id))));
    expect(answers.filter((answer) => !/^HTTP\/1.1 200 OK[\s\S]*done/.test(answer))).toEqual([]);
    expect(seen).toBe(200);
    await proxyPath.empty();
  });

  it("are not reused after unrequested bytes", async () => {
    await using backend = await openBackend((socket) =>
      socket.on("data", (bytes: Buffer) => {
        const [, target] = String(bytes).split(" ");
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${target?.length}\r\n\r\n${target}`);
        if (target === "/1") socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
      }),
    );
    await using proxyPath = await openProxyPath(backend.port);
    const get = (id: number) => say(proxyPath.port, `GET /${id} HTTP/1.1\r\nHost: nova\r\nConnection: close\r\n\r\n`);
    for (let id = 1; id <= 5; id += 1) expect(await get(id)).toMatch(new RegExp(`/${id}$`));
    await proxyPath.empty();
  });
});
