import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, it, vi } from "vitest";
import { makeAuthority, makeServerCertificate } from "../certificates/certificates.ts";
import { FakeClock } from "../time/clock.ts";
import { type ConnectionLimits, limitConnections, strangerLimits } from "./connection-limit.ts";
import { listen } from "./listen.ts";

const here = { host: "127.0.0.1", port: 0 };
const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("an authority", validity);
const names = { commonName: "here", dnsNames: ["localhost"], ipAddresses: [] };
const { certificate: cert, key } = await makeServerCertificate(authority, { ...names, validity });

/** A limited server that answers at once, except for paths with `/slow`, which it never answers. */
async function startServer(limits: ConnectionLimits, secure = false) {
  let requests = 0;
  const answer: RequestListener = (request, response) => {
    requests += 1;
    request.resume();
    if (request.url !== "/slow") response.end("answered");
  };
  const server = secure
    ? createTlsServer({ ...strangerLimits, cert, key }, answer)
    : createServer(strangerLimits, answer);
  const connections = limitConnections(server, limits);
  const { port } = await listen(server, here);
  const sockets: Socket[] = [];
  const open = async (localAddress = "127.0.0.1") => {
    const socket = connect({ ...here, port, localAddress }).on("error", () => {});
    sockets.push(socket);
    await once(socket, "connect");
    return socket;
  };
  return {
    connections,
    port,
    requests: () => requests,
    open,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      connections.closeAll();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const head = (path: string, length = 0) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;

async function ask(socket: Socket, path = "/"): Promise<string> {
  socket.write(head(path));
  const [answer] = await Promise.race([once(socket, "data"), once(socket, "close")]);
  return Buffer.isBuffer(answer) ? answer.toString() : "closed";
}

const closed = (socket: Socket) => (socket.destroyed ? Promise.resolve() : once(socket.resume(), "close"));

describe("a server with as many connections as it may have", () => {
  const limits = { max: 2, perPeerMax: 2 };

  it("closes the oldest that has sent no request when a new one comes", async () => {
    await using server = await startServer(limits);
    const used = await server.open();
    expect(await ask(used)).toContain("200 OK");
    const silent = await server.open();
    const next = await server.open();
    await closed(silent);
    expect(await ask(next)).toContain("200 OK");
    expect(await ask(used)).toContain("200 OK");
  });

  it("then closes the connection that has been idle for longest between two requests", async () => {
    await using server = await startServer(limits);
    const [first, second] = [await server.open(), await server.open()];
    await ask(second);
    await ask(first);
    expect(await ask(await server.open())).toContain("200 OK");
    await closed(second);
    expect(await ask(first)).toContain("200 OK");
  });

  it("then closes one with an incomplete request", async () => {
    await using server = await startServer(limits);
    const [half, waiting] = [await server.open(), await server.open()];
    half.write(`${head("/slow", 10)}half`);
    waiting.write(head("/slow"));
    await expect.poll(() => server.requests()).toBe(2);
    expect(await ask(await server.open())).toContain("200 OK");
    await closed(half);
    expect(waiting.destroyed).toBe(false);
  });

  it("closes a new one only where all others wait for their answers", async () => {
    const onShed = vi.fn();
    await using server = await startServer({ ...limits, onShed });
    const waiting = [await server.open(), await server.open()];
    for (const socket of waiting) socket.write(head("/slow"));
    await expect.poll(() => server.requests()).toBe(2);
    expect(await ask(await server.open())).toBe("closed");
    expect(waiting.map(({ destroyed }) => destroyed)).toEqual([false, false]);
    expect(onShed).toHaveBeenCalled();
  });
});

it("one address cannot take the room of the others", async () => {
  await using server = await startServer({ max: 4, perPeerMax: 2 });
  const other = await server.open("127.0.0.2");
  const greedy: Socket[] = [];
  for (let i = 0; i < 10; i += 1) greedy.push(await server.open("127.0.0.3"));
  await expect.poll(() => greedy.filter(({ destroyed }) => !destroyed).length).toBe(2);
  expect(other.destroyed).toBe(false);
  expect(await ask(other)).toContain("200 OK");
});

describe("where two addresses have all connections", () => {
  const limits = { max: 4, perPeerMax: 2 };

  async function fill(limited: ConnectionLimits, path: string, length = 0) {
    const server = await startServer(limited);
    const taken: Socket[] = [];
    for (const peer of ["127.0.0.3", "127.0.0.3", "127.0.0.4", "127.0.0.4"]) taken.push(await server.open(peer));
    for (const socket of taken) socket.write(head(path, length));
    await expect.poll(() => server.requests()).toBe(4);
    const left = () => taken.filter(({ destroyed }) => !destroyed).length;
    return { ...server, taken, left };
  }

  it("a connection that waits for its response is closed for an address that has fewer", async () => {
    await using server = await fill(limits, "/slow");
    expect(await ask(await server.open())).toContain("200 OK");
    await expect.poll(server.left).toBe(3);
  });

  it("no connection that waits for its response is closed for an address that has as many", async () => {
    await using server = await fill({ max: 4, perPeerMax: 4 }, "/slow");
    expect(await ask(await server.open("127.0.0.3"))).toBe("closed");
    expect(server.left()).toBe(4);
  });

  it("a new one does not close the handshake or unfinished request of an address with fewer", async () => {
    const clock = new FakeClock();
    await using server = await fill({ ...limits, clock }, "/slow");
    const begun = await server.open();
    await expect.poll(server.left).toBe(3);
    await server.open("127.0.0.3");
    await server.open("127.0.0.4");
    expect(await ask(begun)).toContain("200 OK");
  });

  it("an unfinished request makes room after two seconds, whichever address sent it", async () => {
    const clock = new FakeClock();
    await using server = await startServer({ max: 2, perPeerMax: 2, clock });
    const half = await server.open("127.0.0.3");
    half.write(`${head("/slow", 10)}half`);
    const waiting = await server.open("127.0.0.4");
    waiting.write(head("/slow"));
    await expect.poll(() => server.requests()).toBe(2);
    await clock.advance(2_000);
    expect(await ask(await server.open("127.0.0.4"))).toContain("200 OK");
    await closed(half);
    expect(waiting.destroyed).toBe(false);
  });
});

describe("over TLS", () => {
  it("an unfinished handshake makes room for a new one", async () => {
    await using server = await startServer({ max: 20, perPeerMax: 20 }, true);
    const silent: Socket[] = [];
    for (let i = 0; i < 40; i += 1) silent.push(await server.open());
    const client = connectTls({ ...here, port: server.port, rejectUnauthorized: false });
    await once(client, "secureConnect");
    expect(await ask(client)).toContain("200 OK");
    client.destroy();
    expect(server.connections.size).toBeLessThanOrEqual(20);
  });

  it("closing all ends unfinished handshakes, too", async () => {
    await using server = await startServer({ max: 20, perPeerMax: 20 }, true);
    const silent = await server.open();
    await expect.poll(() => server.connections.size).toBe(1);
    server.connections.closeAll();
    await closed(silent);
    await expect.poll(() => server.connections.size).toBe(0);
  });

  it.each([{ secure: true }, { secure: false }])(
    "a silent connection is closed in time (TLS: $secure)",
    { timeout: 20_000 },
    async ({ secure }) => {
      await using server = await startServer({ max: 20, perPeerMax: 20 }, secure);
      await closed(await server.open());
      await expect.poll(() => server.connections.size).toBe(0);
    },
  );
});
