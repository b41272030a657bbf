import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { CurrentCertificate } from "../../../lib/certificates/certificate-source.ts";
import { makeAuthority, makeServerCertificate } from "../../../lib/certificates/certificates.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openSockets } from "../../socket/open-sockets.ts";
import { BufferLoans } from "../../socket/read-place.ts";
import { Sweep } from "../../sweep.ts";
import type { Exchange } from "./exchange.ts";
import { HeadBudget } from "./head-budget.ts";
import { type FrontOptions, startHttp1Front } from "./http1-front.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("of the tests", validity);
const names = { commonName: "here", dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"], validity };
const certificates = new CurrentCertificate(await makeServerCertificate(authority, names));

const fine = { status: 200, headers: [], body: "fine" };
const serve = async (exchange: Exchange) => exchange.answer(fine);

async function openFront(changed: Partial<FrontOptions> = {}, hasRoom = () => true) {
  await using opened = new AsyncDisposableStack();
  const sweep = opened.use(new Sweep(systemClock));
  const failed: string[] = [];
  const counts = { dropped: 0 };
  const events = {
    connected() {},
    disconnected() {},
    refused() {},
    dropped() {
      counts.dropped += 1;
    },
    overheadCut() {},
    handshakeFailed: (failure: string) => void failed.push(failure),
  };
  const times = { headersTimeoutMs: 10_000, keepAliveTimeoutMs: 10_000, streamIdleMs: 0 };
  const options = { host: "127.0.0.1", port: 0, ...times, maxHeaderBytes: 16_384, maxConnections: 100, ...changed };
  const tls = { certificates, clients: "off" } as const;
  const parts = {
    clock: systemClock,
    sweep,
    loans: new BufferLoans(1),
    heads: new HeadBudget(),
    serve,
    events,
    hasRoom,
  };
  const front = opened.use(await startHttp1Front({ ...options, tls }, parts));
  const closing = opened.move();
  return {
    ...{ front, failed, counts, port: front.address.port },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** A connection on which no TLS is spoken unless the test does. */
async function silent(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  await once(socket.resume(), "connect");
  return socket;
}

const secured = (port: number): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: "127.0.0.1", ca: authority.certificate }, () => resolve(socket));
    socket.on("error", reject);
  });

/** The beginning of a record that would hold a ClientHello: type, version, and a length that never comes. */
const helloBegins = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]);

const allClosed = (sockets: readonly Socket[]) => eventually(() => sockets.every(({ destroyed }) => destroyed));

describe("a connection over TLS that does not finish its handshake", () => {
  it("is closed at the limit, with a silent and with a slow client", async () => {
    await using world = await openFront({ headersTimeoutMs: 400 });
    const sockets = await Promise.all(Array.from({ length: 10 }, () => silent(world.port)));
    const [dribbling] = sockets;
    dribbling?.write(helloBegins);
    const dribble = setInterval(() => dribbling?.write(Buffer.of(0x01)), 50);
    await allClosed(sockets);
    clearInterval(dribble);
    await eventually(() => world.failed.length === 10);
    expect(new Set(world.failed)).toEqual(new Set(["timedOut"]));
  });

  it("takes a place of --max-connections until its limit at most", async () => {
    await using world = await openFront({ headersTimeoutMs: 300, maxConnections: 3 });
    const sockets = await Promise.all(Array.from({ length: 3 }, () => silent(world.port)));
    await expect(secured(world.port)).rejects.toThrow();
    await allClosed(sockets);
    await eventually(() => world.failed.length === 3);
    (await secured(world.port)).destroy();
  });

  it("is closed and counted at once if its client sends no TLS", async () => {
    await using world = await openFront();
    const socket = await silent(world.port);
    socket.write("GET / HTTP/1.1\r\nHost: nova\r\n\r\n");
    await allClosed([socket]);
    await eventually(() => world.failed.length === 1);
    expect(world.failed).toEqual(["failed"]);
  });

  it("counts among the sockets of the process, once, until it is closed or encrypted", async () => {
    const before = openSockets();
    await using world = await openFront({}, () => openSockets() - before < 2);
    const waiting = await silent(world.port);
    const inside = await secured(world.port);
    await eventually(() => openSockets() - before === 2);
    await allClosed([await silent(world.port)]);
    expect(world.counts.dropped).toBe(1);
    waiting.destroy();
    await eventually(() => openSockets() - before === 1);
    inside.destroy();
    await eventually(() => openSockets() === before);
    expect(world.failed).toEqual(["failed"]);
  });
});

describe("a TLS front that stops", () => {
  it("does not wait for a connection that found no room after its handshake", async () => {
    let room = true;
    await using world = await openFront({}, () => room);
    const below = await silent(world.port);
    await eventually(async () => !(await isIdle(world.front)));
    const idle = world.front.idle();
    room = false;
    connectTls({ socket: below, ca: authority.certificate, servername: "localhost" }).on("error", () => {});
    await idle;
    expect(world.counts.dropped).toBe(1);
  });

  it("closes silent connections at once", async () => {
    await using world = await openFront();
    const socket = await silent(world.port);
    await eventually(async () => !(await isIdle(world.front)));
    world.front.beginDrain();
    world.front.stopAccepting();
    await world.front.idle();
    await allClosed([socket]);
    expect(world.failed).toEqual([]);
  });

  it("waits for a handshake in progress until a limit", async () => {
    await using world = await openFront();
    const socket = await silent(world.port);
    socket.write(helloBegins);
    await eventually(async () => !(await isIdle(world.front)));
    await heardBytes(world.front);
    world.front.stopAccepting();
    expect(await isIdle(world.front)).toBe(false);
    await world.front.idle();
    await allClosed([socket]);
  });

  it("answers the first request of a client after its handshake", async () => {
    await using world = await openFront();
    const socket = await secured(world.port);
    world.front.beginDrain();
    world.front.stopAccepting();
    const idle = world.front.idle();
    socket.write("GET / HTTP/1.1\r\nHost: nova\r\n\r\n");
    const heard = Buffer.concat(await Array.fromAsync<Buffer>(socket)).toString();
    expect(heard).toMatch(/200 OK[\s\S]*Connection: close[\s\S]*fine$/);
    await idle;
  });

  it("closes handshakes in progress when it is disposed of", async () => {
    const world = await openFront();
    const socket = await silent(world.port);
    await eventually(async () => !(await isIdle(world.front)));
    await world[Symbol.asyncDispose]();
    await allClosed([socket]);
  });
});

/** Whether nothing is under way now. */
const isIdle = (front: { idle(): Promise<void> }): Promise<boolean> =>
  Promise.race([front.idle().then(() => true), new Promise<false>((resolve) => setImmediate(resolve, false))]);

/** A round trip on another connection: what was written before it has been read. */
async function heardBytes({ address }: { readonly address: { readonly port: number } }): Promise<void> {
  const socket = await secured(address.port);
  socket.end("GET / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\n\r\n");
  await Array.fromAsync(socket);
}
