import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath } from "../../test/support/proxy-path.ts";

const post = (body: string) => `POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const get = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";

/** A back-end that sends this head, and ends a connection if the request says so, or never. It knows which side ended first. */
async function openCounting(head: string, closes: (request: string, socket: Socket) => boolean) {
  const seen = { requests: 0, asked: 0, endedByUs: 0 };
  const backend = await openBackend((socket) => {
    let request = "";
    socket.on("data", (bytes: Buffer) => {
      request += bytes.toString("latin1");
      const [fields = "", body] = request.split("\r\n\r\n");
      if (body === undefined || body.length < Number(/content-length: (\d+)/i.exec(fields)?.[1] ?? 0)) return;
      seen.requests += 1;
      if (/\r\nconnection: close/i.test(fields)) seen.asked += 1;
      socket.write(`HTTP/1.1 200 OK\r\n${head}Content-Length: 4\r\n\r\ndone`);
      if (closes(fields, socket)) socket.end();
      request = "";
    });
    socket.on("end", () => {
      if (!socket.writableEnded) seen.endedByUs += 1;
      socket.end();
    });
  });
  return { backend, seen };
}

const obeys = (fields: string) => /\r\nconnection: close/i.test(fields);

/** That many clients send that request so many times, each at once when it has its answer. */
async function crowd(port: number, clients: number, rounds: number, request: string): Promise<void> {
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const client = await dialled(port);
      for (let round = 0; round < rounds; round += 1) {
        const answered = once(client, "data");
        client.write(request);
        await answered;
      }
      client.destroy();
    }),
  );
}

describe("a crowd of POSTs to a server that states no timeout", () => {
  it("leaves the closing of nearly all connections to the server, whose ports do not run out", async () => {
    const { backend, seen } = await openCounting("", obeys);
    await using _backend = backend;
    await using path = await openProxyPath(backend.port, { clock: new FakeClock() });
    await crowd(path.port, 30, 20, post("body"));
    await eventually(() => backend.open === path.pool.size);
    expect(seen.requests).toBe(600);
    expect(seen.endedByUs).toBeLessThanOrEqual(40);
    await crowd(path.port, 1, 1, get); // idle connections serve it
    expect(seen.requests).toBe(601);
  });

  it("does not ask the server to close behind a long body, which its program may read after its answer", async () => {
    const { backend, seen } = await openCounting("", obeys);
    await using _backend = backend;
    await using path = await openProxyPath(backend.port, { clock: new FakeClock() });
    await crowd(path.port, 30, 4, post("b".repeat(5_000)));
    expect([seen.requests, seen.asked]).toEqual([120, 0]);
  });

  it("asks a server that states its timeout for nothing, and uses its connections again", async () => {
    const { backend, seen } = await openCounting("Keep-Alive: timeout=5\r\n", obeys);
    await using _backend = backend;
    await using path = await openProxyPath(backend.port, { clock: new FakeClock() });
    await crowd(path.port, 30, 10, post("body"));
    expect([seen.requests, seen.asked, seen.endedByUs]).toEqual([300, 0, 0]);
  });

  it("asks for nothing while idle connections are few: a POST now and then leaves one for the next GET", async () => {
    const { backend, seen } = await openCounting("", obeys);
    await using _backend = backend;
    await using path = await openProxyPath(backend.port, { clock: new FakeClock() });
    await crowd(path.port, 1, 15, post("body"));
    expect([seen.requests, seen.asked, path.pool.size]).toEqual([15, 0, 15]);
  });
});

describe("a server that announces the end of each connection", () => {
  it("ends them first, though it takes its time", async () => {
    const { backend, seen } = await openCounting("Connection: close\r\n", (_, socket) => {
      setTimeout(() => socket.end(), 20);
      return false;
    });
    await using _backend = backend;
    await using path = await openProxyPath(backend.port, { clock: new FakeClock() });
    await crowd(path.port, 10, 5, get);
    await eventually(() => backend.open === 0);
    expect([seen.requests, seen.endedByUs]).toEqual([50, 0]);
    await path.empty();
  });

  it("has 250 ms for it, and the connections take no other request meanwhile", async () => {
    const { backend, seen } = await openCounting("Connection: close\r\n", () => false);
    await using _backend = backend;
    const clock = new FakeClock();
    await using path = await openProxyPath(backend.port, { clock });
    await crowd(path.port, 1, 5, get);
    await clock.advance(200);
    expect([backend.open, path.pool.size]).toEqual([5, 5]);
    await clock.advance(200);
    await eventually(() => backend.open === 0);
    expect([seen.endedByUs, path.pool.size, path.pool.pods]).toEqual([5, 0, 0]);
  });
});
