import { once } from "node:events";
import { createServer, IncomingMessage, type Server, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import { makeAuthority, makeServerCertificate } from "../certificates/certificates.ts";
import { limitConnections, strangerLimits } from "./connection-limit.ts";
import { listen } from "./listen.ts";

const here = { host: "127.0.0.1", port: 0 };
const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("an authority", validity);
const names = { commonName: "here", dnsNames: ["localhost"], ipAddresses: [] };
const { certificate: cert, key } = await makeServerCertificate(authority, { ...names, validity });

/** A socket that was accepted from this address and port. */
class Accepted extends Socket {
  override readonly remoteAddress: string;
  override readonly remotePort: number;

  constructor(remoteAddress: string, remotePort: number) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }
}

function accept(server: Server, address: string, port: number): Socket {
  const socket = new Accepted(address, port);
  server.emit("connection", socket);
  return socket;
}

async function close(...sockets: readonly Socket[]): Promise<void> {
  for (const socket of sockets) {
    socket.destroy();
    await once(socket, "close");
  }
}

/** Two connections from one port, of which the close of the first is reported after the accept of the second. */
async function reusePort(server: Server, address: string, port: number): Promise<void> {
  const first = accept(server, address, port);
  const second = accept(server, address, port);
  await close(first, second);
}

describe("where the close of a connection is reported after the next one came from the same port", () => {
  it("the address may have as many connections as before", async () => {
    const server = createServer();
    const connections = limitConnections(server, { max: 8, perPeerMax: 2 });
    for (const port of [1_000, 1_001, 1_002]) await reusePort(server, "10.0.0.5", port);
    expect(connections.size).toBe(0);
    const held = [accept(server, "10.0.0.5", 2_000), accept(server, "10.0.0.5", 2_001)];
    expect(held.map(({ destroyed }) => destroyed)).toEqual([false, false]);
    expect(connections.size).toBe(2);
  });

  it("both count until the first is closed", async () => {
    const server = createServer();
    const connections = limitConnections(server, { max: 8, perPeerMax: 8 });
    const first = accept(server, "10.0.0.5", 1_000);
    const second = accept(server, "10.0.0.5", 1_000);
    expect(connections.size).toBe(2);
    await close(first);
    expect(connections.size).toBe(1);
    connections.closeAll();
    expect(second.destroyed).toBe(true);
  });

  it("another address is let in where all connections are in progress", async () => {
    const server = createServer();
    limitConnections(server, { max: 4, perPeerMax: 4 });
    for (const port of [1_000, 1_001, 1_002]) await reusePort(server, "10.0.0.5", port);
    const held = [20, 20, 21, 21].map((last, index) => accept(server, `10.0.0.${last}`, 3_000 + index));
    for (const socket of held) request(server, socket);
    const newcomer = accept(server, "10.0.0.30", 4_000);
    expect(newcomer.destroyed).toBe(false);
    expect(held.filter(({ destroyed }) => destroyed)).toHaveLength(1);
  });

  it("a request counts for the connection on which it came", () => {
    const server = createServer();
    limitConnections(server, { max: 2, perPeerMax: 2 });
    const first = accept(server, "10.0.0.5", 1_000);
    const second = accept(server, "10.0.0.5", 1_000);
    request(server, first);
    accept(server, "10.0.0.5", 2_000);
    expect([first.destroyed, second.destroyed]).toEqual([false, true]);
  });

  it("a connection that is closed for another one gives its place back once", async () => {
    const server = createServer();
    const connections = limitConnections(server, { max: 8, perPeerMax: 2 });
    const shed = accept(server, "10.0.0.5", 1_000);
    const kept = [accept(server, "10.0.0.5", 1_000), accept(server, "10.0.0.5", 1_001)];
    expect(shed.destroyed).toBe(true);
    await once(shed, "close");
    expect(connections.size).toBe(2);
    accept(server, "10.0.0.5", 1_002);
    expect(kept.filter(({ destroyed }) => destroyed)).toHaveLength(1);
  });
});

/** A request on that connection that waits for its response. */
function request(server: Server, socket: Socket): void {
  const message = new IncomingMessage(socket);
  message.complete = true;
  server.emit("request", message, new ServerResponse(message));
}

describe.each([{ secure: false }, { secure: true }])("with real sockets (TLS: $secure)", ({ secure }) => {
  // No other program is a client at this address, so a port that was free stays free.
  const localAddress = "127.9.0.1";

  /** A client on this port of its own, which has the answer to a request; 0: any port. */
  async function ask(port: number, localPort = 0): Promise<Socket> {
    const below = connect({ ...here, port, localAddress, localPort }).on("error", () => {});
    const socket = secure ? connectTls({ socket: below, rejectUnauthorized: false }).on("error", () => {}) : below;
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer = await Promise.race([once(socket, "data"), once(socket, "close")]);
    expect(String(answer[0])).toContain("200 OK");
    return below;
  }

  it("clients that reset and come again from the same port leave no place taken", async () => {
    const server = secure ? createTlsServer({ ...strangerLimits, cert, key }) : createServer(strangerLimits);
    server.on("request", (_request, response) => response.end("answered"));
    const limits = { max: 8, perPeerMax: 4 };
    const connections = limitConnections(server, limits);
    const { port } = await listen(server, here);
    const seen = { open: 0, overlaps: 0 };
    server.on("connection", (socket: Socket) => {
      if (seen.open > 0) seen.overlaps += 1;
      seen.open += 1;
      socket.once("close", () => {
        seen.open -= 1;
      });
    });
    // On a busy machine the kernel may report the reset before the next connection: then it is no such case.
    while (seen.overlaps < limits.perPeerMax) {
      const first = await ask(port);
      const { localPort } = first;
      first.resetAndDestroy();
      (await ask(port, localPort)).resetAndDestroy();
      await expect.poll(() => connections.size).toBe(0);
    }
    const held = [];
    for (let count = 0; count < limits.perPeerMax; count += 1) held.push(await ask(port));
    expect(held.map(({ destroyed }) => destroyed)).toEqual([false, false, false, false]);
    expect(connections.size).toBe(limits.perPeerMax);
    for (const socket of held) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
});
