import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { beginCalls, byteOf, openFrameSandbox, responseFields } from "../../test/support/grpc/frame-sandbox.ts";
import { fieldsOf, flag, headersOf, openFrameClient, preface, settingsOf } from "../../test/support/http2-frames.ts";
import { dialled, openBackend, openProxyPath } from "../../test/support/proxy-path.ts";
import { dialledTls, tls } from "../../test/support/tls-path.ts";
import { ReadShare } from "./read-share.ts";
import { turn } from "./turn.ts";

/** How many frames of ten bytes one read of Node brings, at most. */
const framesOfRead = Math.ceil(65_536 / 10) + 1;
/** As many as the initial window allows. */
const dense = 60_000;

const { counted } = ReadShare.prototype;
afterEach(() => {
  ReadShare.prototype.counted = counted;
});

/** Counts the frames of all connections in each turn of the event loop from now on. */
function countFrames() {
  const seen = { bytes: 0, most: 0, inTurn: 0, turn: -1 };
  // Not a spy, which would keep each of many calls.
  ReadShare.prototype.counted = function count(bytes) {
    seen.inTurn = seen.turn === turn.number ? seen.inTurn + 1 : 1;
    seen.turn = turn.number;
    seen.bytes += bytes;
    seen.most = Math.max(seen.most, seen.inTurn);
    counted.call(this, bytes);
  };
  return seen;
}

/** The native part of a socket, as far as a share uses it. */
function fakeSocket() {
  const events: string[] = [];
  const readStart = () => void events.push("start");
  const readStop = () => void events.push("stop");
  return { events, bytesRead: 0, _handle: { readStart, readStop, writeQueueSize: 0 } };
}

const bring = (share: ReadShare, frames: number, bytes = 1) => {
  for (let at = 0; at < frames; at += 1) share.counted(bytes);
};
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("the share of a connection of HTTP/2 in the turns of the event loop", () => {
  it("ends with its 256th frame, and begins again in the next turn", async () => {
    const socket = fakeSocket();
    const share = new ReadShare(socket);
    bring(share, 255);
    expect(socket.events).toEqual([]);
    bring(share, 2_000);
    expect(socket.events).toEqual(["stop"]);
    await nextTurn();
    expect(socket.events).toEqual(["stop", "start"]);
  });

  it("ends with its 131,072nd byte", async () => {
    const socket = fakeSocket();
    bring(new ReadShare(socket), 8, 16_384);
    expect(socket.events).toEqual(["stop"]);
    await nextTurn();
    expect(socket.events).toEqual(["stop", "start"]);
  });

  it("comes in turn among those with many frames, which hold up none with few", async () => {
    const sockets = [fakeSocket(), fakeSocket(), fakeSocket()];
    const shares = sockets.map((socket) => new ReadShare(socket));
    const light = fakeSocket();
    for (const share of shares) bring(share, 2_000);
    bring(new ReadShare(light), 300);
    const started = () => [...sockets, light].map(({ events }) => events.length - 1);
    const seen = [started()];
    for (let at = 0; at < 3; at += 1) {
      await nextTurn();
      seen.push(started());
    }
    expect(seen).toEqual([
      [0, 0, 0, 0],
      [1, 0, 0, 1],
      [1, 1, 0, 1],
      [1, 1, 1, 1],
    ]);
  });

  it("is left to Node while a write waits, and begins at the next check otherwise", async () => {
    const socket = fakeSocket();
    const share = new ReadShare(socket);
    socket._handle.writeQueueSize = 1;
    bring(share, 256);
    await nextTurn();
    share.check();
    expect(socket.events).toEqual(["stop"]);
    socket._handle.writeQueueSize = 0;
    share.check();
    expect(socket.events).toEqual(["stop", "start"]);
  });

  it("counts the decoded bytes of a head, and a head as many frames", async () => {
    const [large, small] = [fakeSocket(), fakeSocket()];
    const [ofLarge, ofSmall] = [new ReadShare(large), new ReadShare(small)];
    for (let at = 0; at < 2; at += 1) ofLarge.head(65_536);
    expect(large.events).toEqual(["stop"]);
    for (let at = 0; at < 31; at += 1) ofSmall.head(100);
    expect(small.events).toEqual([]);
    ofSmall.head(100);
    expect(small.events).toEqual(["stop"]);
    await nextTurn();
  });

  it("is not read while it is held, and comes in turn after that", async () => {
    const socket = fakeSocket();
    const share = new ReadShare(socket);
    share.hold();
    bring(share, 300);
    await nextTurn();
    share.check();
    expect(socket.events.filter((event) => event === "start")).toEqual([]);
    share.release();
    await nextTurn();
    expect(socket.events.at(-1)).toBe("start");
  });

  it("is used up by frames that Node does not report, and such connections are read one by one", async () => {
    const sockets = [fakeSocket(), fakeSocket(), fakeSocket()];
    const shares = sockets.map((socket) => new ReadShare(socket));
    for (const socket of sockets) socket.bytesRead += 140_000;
    for (const share of shares) share.check();
    expect(sockets.map(({ events }) => events)).toEqual([["stop"], ["stop"], ["stop"]]);
    for (let at = 0; at < 9; at += 1) {
      await nextTurn();
      const started = sockets.filter(({ events }) => events.at(-1) === "start");
      expect(started).toHaveLength(1);
      for (const socket of started) socket.bytesRead += 65_536;
    }
    expect(sockets.map(({ events }) => events.filter((event) => event === "start").length)).toEqual([3, 3, 3]);
  });

  it("is as before once such bytes have stopped coming", async () => {
    const socket = fakeSocket();
    const share = new ReadShare(socket);
    socket.bytesRead += 140_000;
    for (let at = 0; at < 60; at += 1) {
      share.check();
      await nextTurn();
      await nextTurn();
    }
    const { length } = socket.events;
    expect(socket.events.at(-1)).toBe("start");
    share.check();
    await nextTurn();
    expect(socket.events).toHaveLength(length);
  });

  it("is none any more once the connection is closed", async () => {
    const socket = fakeSocket();
    const share = new ReadShare(socket);
    bring(share, 256);
    share.close();
    await nextTurn();
    expect(socket.events).toEqual(["stop"]);
  });
});

const uploadFields = fieldsOf("POST");
const denseUpload = (stream: number) => [
  headersOf(stream, uploadFields, flag.endHeaders),
  ...Array.from({ length: dense }, () => byteOf(stream)),
];

const ways = [
  { way: "in clear text", dial: dialled, options: {} },
  { way: "over TLS", dial: (port: number): Promise<Socket> => dialledTls(port, "h2"), options: { tls } },
];

describe("frames of one byte", () => {
  it.each(ways)("of one client are few in each turn, $way, and arrive together", async ({ dial, options }) => {
    let [bytes, lines] = [0, 0];
    await using backend = await openBackend((socket) => {
      socket.on("data", (read: Buffer) => {
        bytes += read.toString("latin1").split("x").length - 1;
        lines += read.toString("latin1").split("\n").length - 1;
      });
    });
    await using proxyPath = await openProxyPath(backend.port, options);
    const client = await dial(proxyPath.port);
    const frames = countFrames();
    client.on("error", () => {}).resume();
    client.write(Buffer.concat([preface, settingsOf(), ...[1, 3, 5, 7].flatMap(denseUpload)]));
    await eventually(() => frames.bytes >= 4 * dense, 30_000);
    expect(frames.most).toBeLessThanOrEqual(2 * framesOfRead);
    await eventually(() => bytes >= 4 * dense, 30_000);
    expect(lines).toBeLessThan(dense); // so they were joined to chunks
    client.destroy();
    await proxyPath.empty();
  });

  it("of several clients come one read after the other", async () => {
    await using backend = await openBackend((socket) => void socket.resume());
    await using proxyPath = await openProxyPath(backend.port);
    const clients = await Promise.all([1, 2, 3, 4].map(() => openFrameClient(proxyPath.port)));
    for (const client of clients) client.send(...denseUpload(1));
    // They may have their first reads two by two: how much they bring is not known before.
    const frames = countFrames();
    await eventually(() => frames.bytes >= 8 * framesOfRead, 30_000);
    frames.most = 0;
    await eventually(() => frames.bytes >= 4 * dense, 30_000);
    expect(frames.most).toBeLessThanOrEqual(2 * framesOfRead);
    for (const client of clients) client.socket.destroy();
    await proxyPath.empty();
  });

  it("of a sandbox are few in each turn, too", async () => {
    await using sandbox = await openFrameSandbox();
    await using proxyPath = await openProxyPath(sandbox.port);
    using client = await openFrameClient(proxyPath.port);
    const streams = [1, 3, 5, 7];
    await beginCalls(client, streams, sandbox);
    const frames = countFrames();
    for (const stream of streams) {
      const bytes = Array.from({ length: dense }, () => byteOf(stream));
      sandbox.send(headersOf(stream, responseFields, flag.endHeaders), ...bytes);
    }
    await eventually(() => frames.bytes >= 4 * dense, 30_000);
    expect(frames.most).toBeLessThanOrEqual(2 * framesOfRead);
  });
});
