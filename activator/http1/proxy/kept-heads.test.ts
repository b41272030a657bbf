import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { memoryBytesOf } from "../../../test/support/heap-bytes.ts";
import { dialled, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const streams = 32;
/** Much less than a large head, and more than two measurements of the same differ. */
const allowedBytes = 4_000;

const large = Array.from({ length: 7 }, (_, at) => `X-F${at}: ${"a".repeat(8_500)}\r\n`).join("");
const many = Array.from({ length: 120 }, (_, at) => `X-F${at}: b\r\n`).join("");
const get = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";
const upgrade = "Connection: Upgrade\r\nUpgrade: anything\r\n";
const chunked = "Transfer-Encoding: chunked\r\n";
const events = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n${chunked}`;
const firstEvent = "8\r\ndata: 1\n\r\n";

/** Trailers may have 8 KiB. */
const trailersOf = (fields: string) => `${fields && `${fields.slice(0, 8_000)}\r\n`}X-Last: 1\r\n`;

interface Scene {
  /** With `fields` among those that are kept too long. */
  readonly request: (fields: string) => string;
  /** The sandbox has the whole request once it has read this. */
  readonly requestEnd?: string;
  /** What the sandbox sends; the parts of a head are read one by one. */
  readonly response: (fields: string) => readonly string[];
  /** The client has the response once it has read this. */
  readonly until: string;
  readonly fields?: string;
}

const scenes: readonly (readonly [string, Scene])[] = [
  [
    "the head of an event stream that came in one piece",
    { request: () => get, response: (fields) => [`${events}${fields}\r\n${firstEvent}`], until: "data: 1" },
  ],
  [
    "the head of an event stream that came in parts",
    { request: () => get, response: (fields) => [events, `${fields}\r\n`, firstEvent], until: "data: 1" },
  ],
  [
    "the places of many fields in the head of an event stream",
    {
      request: () => get,
      response: (fields) => [`${events}${fields}\r\n${firstEvent}`],
      until: "data: 1",
      fields: many,
    },
  ],
  [
    "the value of Keep-Alive, which is a part of the head",
    {
      request: () => get,
      response: (fields) => [`${events}Keep-Alive: timeout=60, max=1000\r\n${fields}\r\n${firstEvent}`],
      until: "data: 1",
    },
  ],
  [
    "the head of a request that is answered by an event stream",
    {
      request: (fields) => `GET / HTTP/1.1\r\nHost: nova\r\n${fields}\r\n`,
      response: () => [`${events}\r\n${firstEvent}`],
      until: "data: 1",
    },
  ],
  [
    "the trailers of a request that is answered by an event stream",
    {
      request: (fields) => `POST / HTTP/1.1\r\nHost: nova\r\n${chunked}\r\n1\r\nx\r\n0\r\n${trailersOf(fields)}\r\n`,
      requestEnd: "X-Last: 1\r\n\r\n",
      response: () => [`${events}\r\n${firstEvent}`],
      until: "data: 1",
    },
  ],
  [
    "an interim head",
    {
      request: () => get,
      response: (fields) => ["HTTP/1.1 100 Continue\r\n", `${fields}\r\n`],
      until: "100 Continue\r\n\r\n",
    },
  ],
  [
    "the two heads of a tunnel",
    {
      request: (fields) => `GET / HTTP/1.1\r\nHost: nova\r\n${upgrade}${fields}\r\n`,
      response: (fields) => [`HTTP/1.1 101 Go\r\n${upgrade}`, `${fields}\r\nhello`],
      until: "hello",
    },
  ],
  [
    "the head of the last response on an idle connection",
    {
      request: () => get,
      response: (fields) => ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", `${fields}\r\nok`],
      until: "ok",
    },
  ],
  [
    "the trailers of the last response on an idle connection",
    {
      request: () => get,
      response: (fields) => [`HTTP/1.1 200 OK\r\n${chunked}\r\n1\r\nx\r\n0\r\n`, `${trailersOf(fields)}\r\n`],
      until: "X-Last: 1",
    },
  ],
];

/** A sandbox that answers once a number of requests have come, so that each has a connection of its own. */
class CrowdBackend {
  wanted = 0;
  /** Resolves once the first part of each head was read: the rest comes in another read. */
  begun: (count: number) => Promise<void> = async () => {};
  readonly #answer: readonly string[];
  readonly #requestEnd: string;
  #waiting: Socket[] = [];

  constructor(answer: readonly string[], requestEnd: string) {
    this.#answer = answer;
    this.#requestEnd = requestEnd;
  }

  connected(socket: Socket): void {
    whenRead(socket, this.#requestEnd, () => {
      this.#waiting.push(socket);
      if (this.#waiting.length === this.wanted) void this.#sendAll(this.#waiting.splice(0));
    });
  }

  async #sendAll(sockets: readonly Socket[]): Promise<void> {
    let isInHead = true;
    for (const [at, piece] of this.#answer.entries()) {
      if (at > 0 && isInHead) await this.begun(sockets.length);
      for (const socket of sockets) socket.write(piece);
      isInHead &&= !piece.includes("\r\n\r\n");
    }
  }
}

/** Calls `act` each time that `text` was read, in whatever pieces it comes. */
function whenRead(socket: Socket, text: string, act: () => void): void {
  let last = Buffer.alloc(0);
  socket.on("data", (bytes: Buffer) => {
    const read = Buffer.concat([last, bytes]);
    const isWhole = read.includes(text);
    last = Buffer.from(read.subarray(isWhole ? read.length : Math.max(0, read.length - text.length + 1)));
    if (isWhole) act();
  });
}

/** Sends a request; resolves when the client has read `until`. */
async function visit(port: number, sent: Buffer, until: string): Promise<Socket> {
  const client = await dialled(port);
  const read = new Promise<void>((resolve) => whenRead(client, until, resolve));
  client.write(sent);
  await read;
  return client;
}

/** The memory of all connections while nothing moves on them. */
async function memoryOf(scene: Scene, fields: string): Promise<number> {
  const { request, requestEnd = "\r\n\r\n", response, until } = scene;
  const sent = Buffer.from(request(fields));
  const crowd = new CrowdBackend(response(fields), requestEnd);
  await using backend = await openBackend((socket) => crowd.connected(socket));
  await using proxyPath = await openProxyPath(backend.port);
  const clients: Socket[] = [];
  const visits = async (count: number) => {
    const before = proxyPath.unfinishedHeads.begun;
    crowd.begun = (heads) => eventually(() => proxyPath.unfinishedHeads.begun >= before + heads);
    crowd.wanted = count;
    clients.push(...(await Promise.all(Array.from({ length: count }, () => visit(proxyPath.port, sent, until)))));
  };
  await visits(4); // what is made once
  const bytes = await memoryBytesOf(() => visits(streams));
  for (const client of clients) client.resetAndDestroy();
  await proxyPath.empty();
  return bytes;
}

/** The bytes that a stream keeps of the fields. What is kept shows in every measurement; V8's own memory only in some. */
async function keptBytesOf(scene: Scene): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < roundsMax && least >= allowedBytes; round++) {
    const without = await memoryOf(scene, "");
    const whole = await memoryOf(scene, scene.fields ?? large);
    least = Math.min(least, (whole - without) / streams);
  }
  return least;
}

const roundsMax = 4;

describe("of a message that was forwarded nothing is kept", { timeout: 60_000 }, () => {
  it.each(scenes)("%s", { timeout: 60_000 }, async (_, scene) => {
    expect(await keptBytesOf(scene)).toBeLessThan(allowedBytes);
  });
});
