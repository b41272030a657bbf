import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import {
  frame,
  getFields,
  headersOf,
  openFrameClient,
  preface,
  settingsOf,
} from "../../../test/support/http2-frames.ts";
import { dialled, openProxyPath, openStrictBackend } from "../../../test/support/proxy-path.ts";
import { dialledTls, tls } from "../../../test/support/tls-path.ts";
import { ReadShare } from "../read-share.ts";
import { turn } from "../turn.ts";
import { TurnFrames } from "./turn-frames.ts";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/** Heads that one turn brings: 8,192 frames, four times 8 for each head, and the rest of the read in progress. */
const headsOfTurn = 256 + 128;

const { head } = ReadShare.prototype;
afterEach(() => {
  ReadShare.prototype.head = head;
});

/** Counts the heads of all connections in each turn of the event loop from now on. */
function countHeads() {
  const seen = { all: 0, most: 0, inTurn: 0, turn: -1 };
  ReadShare.prototype.head = function count(bytes) {
    seen.inTurn = seen.turn === turn.number ? seen.inTurn + 1 : 1;
    seen.turn = turn.number;
    seen.all += 1;
    seen.most = Math.max(seen.most, seen.inTurn);
    head.call(this, bytes);
  };
  return seen;
}

describe("the frames of all connections in one turn of the event loop", () => {
  it("stop the reads of all connections with the 8,192nd, for eight turns", async () => {
    await nextTurn();
    const frames = new TurnFrames();
    const paused: string[] = [];
    for (const name of ["one", "other"]) frames.opened({ pause: () => void paused.push(name) });
    const gone = { pause: () => void paused.push("gone") };
    frames.opened(gone);
    frames.closed(gone);
    frames.add(8_191);
    expect(paused).toEqual([]);
    for (let at = 0; at < 10; at += 1) frames.add(1);
    expect(paused).toEqual(["one", "other"]);
    for (let at = 0; at < 8; at += 1) {
      await nextTurn();
      expect(frames.mayRead).toBe(false);
    }
    await nextTurn();
    expect(frames.mayRead).toBe(true);
    frames.add(8_000);
    expect(paused).toHaveLength(2);
    frames.add(192);
    expect(paused).toEqual(["one", "other", "one", "other"]);
  });

  it("let sixteen new connections begin at a time, in order, and fewer beside other frames", async () => {
    await nextTurn();
    const frames = new TurnFrames();
    const begun: number[] = [];
    const counts: number[] = [];
    for (let at = 0; at < 40; at += 1) frames.begin(() => void begun.push(at));
    for (let at = 0; at < 3; at += 1) {
      counts.push(begun.length);
      await nextTurn();
    }
    expect([...counts, begun.length]).toEqual([16, 32, 40, 40]);
    expect(begun).toEqual(Array.from({ length: 40 }, (_, at) => at));
    await nextTurn();
    frames.add(4_000);
    expect([frames.begin(() => {}), frames.begin(() => {})]).toEqual([true, false]);
    await nextTurn();
  });
});

const each = 120;
const connections = 40;
const heads = (from: number) =>
  Buffer.concat(Array.from({ length: each }, (_, at) => headersOf(2 * (from + at) + 1, getFields())));

describe("the requests that many connections bring at once", { timeout: 60_000 }, () => {
  it.each([
    { way: "in clear text", dial: dialled, options: {} },
    { way: "over TLS", dial: (port: number) => dialledTls(port, "h2"), options: { tls } },
  ])("come in several turns if the connections are new, and all are answered, $way", async ({ dial, options }) => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port, options);
    const seen = countHeads();
    const sockets = await Promise.all(Array.from({ length: connections }, () => dial(proxyPath.port)));
    const first = Buffer.concat([preface, settingsOf(), heads(0)]);
    for (const socket of sockets) socket.on("error", () => {}).resume();
    for (const socket of sockets) socket.write(first);
    await eventually(() => proxyPath.ends.length === connections * each, 30_000);
    expect(seen.all).toBe(connections * each);
    expect(seen.most).toBeLessThanOrEqual(headsOfTurn);
    expect(new Set(proxyPath.ends.map(({ status }) => status))).toEqual(new Set([200]));
    for (const socket of sockets) socket.destroy();
    await proxyPath.empty();
  });

  it("come in several turns if the connections have rested, and all are answered", async () => {
    await using backend = await openStrictBackend(ok);
    await using proxyPath = await openProxyPath(backend.port);
    await using opened = new AsyncDisposableStack();
    const clients = [];
    for (let at = 0; at < connections; at += 1) clients.push(opened.use(await openFrameClient(proxyPath.port)));
    for (const client of clients) client.send(headersOf(1, getFields()));
    await Promise.all(clients.map((client) => client.until(({ type }) => type === frame.data)));
    const seen = countHeads();
    for (const client of clients) client.send(heads(1));
    await eventually(() => proxyPath.ends.length === connections * (each + 1), 30_000);
    expect(seen.most).toBeLessThanOrEqual(headsOfTurn);
    expect(new Set(proxyPath.ends.map(({ status }) => status))).toEqual(new Set([200]));
    await opened.disposeAsync();
    await proxyPath.empty();
  });
});
