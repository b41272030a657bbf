import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { openUpdatingClient } from "../../test/http1/key-updates.ts";
import { eventually } from "../../test/support/eventually.ts";
import { dialledTls, tls } from "../../test/support/tls-path.ts";
import { secretsOf } from "../certificates/certificate-source.ts";
import { FakeClock } from "../time/clock.ts";
import { isClientKeyUpdate } from "./key-updates.ts";
import { listen } from "./listen.ts";
import { limitTlsOverhead } from "./tls-overhead.ts";

/** A KeyUpdate takes 27 bytes. */
const updatesOf64KiB = Math.ceil(65_536 / 27);
/** What a client may send at once. */
const updatesAtOnce = 32;
/** Node takes them in three reads of one turn. */
const flood = 3 * updatesOf64KiB;

async function openServer() {
  const clock = new FakeClock();
  const counts = { cut: 0, updates: 0 };
  const sockets: { readonly raw: Socket; secured?: TLSSocket }[] = [];
  const server = createServer({ ...secretsOf(tls.certificates), noDelay: true }, (secured) => {
    secured.on("error", () => {}).resume();
    Object.assign(sockets.at(-1) ?? {}, { secured });
  });
  server.on("tlsClientError", () => {});
  server.on("connection", (raw: Socket) => sockets.push({ raw }));
  limitTlsOverhead(server, { clock, onCut: () => (counts.cut += 1) });
  server.on("keylog", (line: Buffer) => (counts.updates += Number(isClientKeyUpdate(line))));
  const { port } = await listen(server, { host: "127.0.0.1", port: 0 });
  return {
    ...{ clock, counts, port, server },
    last: () => sockets.at(-1),
    /** The bytes that the last connection has brought, and its bytes of data. */
    read: () => ({ raw: sockets.at(-1)?.raw.bytesRead ?? 0, data: sockets.at(-1)?.secured?.bytesRead ?? 0 }),
    async [Symbol.asyncDispose]() {
      for (const { raw } of sockets) raw.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** As in a Node with other internals. */
function hideReadStop(raw: Socket): void {
  if ("_handle" in raw) Object.defineProperty(raw._handle, "readStop", { value: undefined });
}

/** As code does that had stopped the reading for a moment. */
function startReading(raw: object | undefined): void {
  if (!raw || !("_handle" in raw) || typeof raw._handle !== "object" || raw._handle === null) return;
  if ("readStart" in raw._handle && typeof raw._handle.readStart === "function") raw._handle.readStart();
}

describe("a TLS client that sends KeyUpdate messages", () => {
  it("is cut within the read that brings too many of them", async () => {
    await using server = await openServer();
    const { socket, sendUpdates } = await openUpdatingClient(server.port);
    sendUpdates(flood);
    await eventually(() => socket.destroyed);
    expect(server.counts.cut).toBe(1);
    expect(server.counts.updates).toBeLessThanOrEqual(updatesAtOnce + updatesOf64KiB);
    expect(server.last()?.secured?.destroyed).toBe(true);
    expect(server.clock.pending).toBe(0);
  });

  it("costs no more than one read each time that it connects again", async () => {
    await using server = await openServer();
    for (let connected = 0; connected < 3; connected += 1) {
      const { socket, sendUpdates } = await openUpdatingClient(server.port);
      sendUpdates(flood);
      await eventually(() => socket.destroyed);
    }
    expect(server.counts.cut).toBe(3);
    expect(server.counts.updates).toBeLessThanOrEqual(3 * (updatesAtOnce + updatesOf64KiB));
  });

  it.each([1, 3])("is cut too if a byte of data follows each %i", async (updatesPerByte) => {
    await using server = await openServer();
    const { socket, sendUpdates } = await openUpdatingClient(server.port);
    sendUpdates(flood, updatesPerByte);
    await eventually(() => socket.destroyed);
    expect(server.counts.cut).toBe(1);
    expect(server.counts.updates).toBeLessThanOrEqual(updatesAtOnce + updatesOf64KiB);
  });

  it("is cut though the reading of its data begins again", async () => {
    await using server = await openServer();
    const { socket, sendUpdates } = await openUpdatingClient(server.port);
    await eventually(() => server.last()?.secured !== undefined);
    server.last()?.secured?.on("data", () => startReading(server.last()?.raw));
    sendUpdates(flood, 30);
    await eventually(() => socket.destroyed);
    expect(server.counts.cut).toBe(1);
    expect(server.counts.updates).toBeLessThanOrEqual(updatesAtOnce + 2 * updatesOf64KiB);
  });

  it("is cut at the end of the turn if Node has other internals", async () => {
    await using server = await openServer();
    server.server.prependListener("connection", (raw: Socket) => hideReadStop(raw));
    const { socket, sendUpdates } = await openUpdatingClient(server.port);
    sendUpdates(flood);
    await eventually(() => socket.destroyed);
    expect(server.counts.cut).toBe(1);
    expect(server.counts.updates).toBeGreaterThan(updatesAtOnce + updatesOf64KiB);
  });

  it("stays open while it sends no more than a few", async () => {
    await using server = await openServer();
    const { socket, sendUpdates } = await openUpdatingClient(server.port);
    for (const updates of [updatesAtOnce, 10, 10]) {
      const { updates: before } = server.counts;
      sendUpdates(updates);
      await eventually(() => server.counts.updates === before + updates);
      await new Promise(setImmediate);
      expect([server.counts.cut, socket.destroyed]).toEqual([0, false]);
      await server.clock.advance(10_000);
    }
    sendUpdates(11);
    await eventually(() => socket.destroyed);
    expect(server.counts.cut).toBe(1);
  });
});

describe("a TLS connection that brings bytes without data", () => {
  it("is cut at more than 64 KiB if the key log does not tell of KeyUpdate messages", async () => {
    await using server = await openServer();
    server.server.removeAllListeners("keylog");
    const { socket, sendUpdates } = await openUpdatingClient(server.port);
    await eventually(() => server.last()?.secured !== undefined);
    const before = server.read().raw;
    sendUpdates(100);
    await eventually(() => server.read().raw === before + 2_700);
    await server.clock.advance(100);
    expect([server.counts.cut, socket.destroyed]).toEqual([0, false]);
    sendUpdates(updatesOf64KiB);
    await eventually(() => server.read().raw > 65_536 + before);
    await server.clock.advance(100);
    expect(server.counts.cut).toBe(1);
    await eventually(() => socket.destroyed);
    expect(server.clock.pending).toBe(0);
  });

  it("is cut within its handshake too", async () => {
    await using server = await openServer();
    const socket = connect(server.port, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    const first = Buffer.of(22, 3, 1, 0, 4, 1, 1, 0x80, 0); // a ClientHello of 98,304 bytes
    const next = Buffer.of(22, 3, 1, 0, 1, 0);
    socket.write(Buffer.concat([first, ...Array.from({ length: 12_000 }, () => next)]));
    await eventually(() => server.read().raw > 65_536);
    await server.clock.advance(100);
    expect(server.counts.cut).toBe(1);
    await eventually(() => socket.resume().destroyed);
  });

  it("is cut within its handshake although the bytes come slowly", async () => {
    await using server = await openServer();
    const socket = connect(server.port, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    socket.write(Buffer.of(22, 3, 1, 0, 4, 1, 1, 0x80, 0)); // a ClientHello of 98,304 bytes
    const next = Buffer.of(22, 3, 1, 0, 1, 0);
    for (let sent = 30_000; sent <= 90_000; sent += 30_000) {
      socket.write(Buffer.concat(Array.from({ length: 5_000 }, () => next)));
      await eventually(() => server.read().raw === 9 + sent);
      await server.clock.advance(3_000);
    }
    expect(server.counts.cut).toBe(1);
  });

  it("stays open if they are few each second, as the padding of records is, and is cut if they are more", async () => {
    await using server = await openServer();
    server.server.removeAllListeners("keylog");
    const { socket, sendUpdates } = await openUpdatingClient(server.port);
    await eventually(() => server.last()?.secured !== undefined);
    const bring = async (updates: number) => {
      const { raw } = server.read();
      sendUpdates(updates);
      await eventually(() => server.read().raw === raw + updates * 27);
      await server.clock.advance(100);
    };
    for (let step = 0; step < 50; step += 1) await bring(100); // 27,000 bytes a second
    expect([server.counts.cut, socket.destroyed]).toEqual([0, false]);
    for (let step = 0; step < 50 && server.counts.cut === 0; step += 1) await bring(200);
    expect(server.counts.cut).toBe(1);
    await eventually(() => socket.destroyed);
  });

  it("is cut too if they come in several steps", async () => {
    await using server = await openServer();
    server.server.removeAllListeners("keylog");
    const { socket, sendUpdates } = await openUpdatingClient(server.port);
    await eventually(() => server.last()?.secured !== undefined);
    for (let round = 0; round < 3; round += 1) {
      const { raw } = server.read();
      sendUpdates(1_000);
      await eventually(() => server.read().raw === raw + 27_000);
      await server.clock.advance(100);
    }
    expect(server.counts.cut).toBe(1);
    await eventually(() => socket.destroyed);
  });
});

describe("a TLS connection that brings data", () => {
  it("stays open, however short its records are", async () => {
    await using server = await openServer();
    const socket = await dialledTls(server.port);
    for (let sent = 0; sent < 6_000; sent += 1) {
      await new Promise((written) => socket.write("x", written)); // else several go into one record
    }
    await eventually(() => server.read().data === 6_000);
    await server.clock.advance(100);
    expect(server.read().raw).toBeGreaterThan(65_536 + 6_000);
    expect(server.counts.cut).toBe(0);
    socket.write(Buffer.alloc(300_000));
    await eventually(() => server.read().data === 306_000);
    await server.clock.advance(100);
    expect(server.counts.cut).toBe(0);
    socket.destroy();
  });
});
