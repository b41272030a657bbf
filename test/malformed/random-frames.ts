import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { Random } from "../http1/random.ts";
import { openHttp2Client } from "../support/http2-client.ts";
import {
  blockOf,
  fieldsOf,
  flag,
  frame,
  frameOf,
  headersOf,
  preface,
  settingsOf,
  uint32,
} from "../support/http2-frames.ts";
import { dialled, openBackend, openProxyPath } from "../support/proxy-path.ts";

/** How many clients send at a time. */
const clientsAtOnce = 10;
const stepsMax = 40;
const honestBody = "x".repeat(20_000);

export interface RandomFrames {
  readonly sessions: number;
  /** Streams that the front served for clients with random frames and for others. */
  readonly served: number;
  /** Requests of a client that keeps to the protocol, and how many of them got a wrong response. */
  readonly honest: number;
  readonly wrong: number;
}

/**
 * Sends frames in random order, whole and in parts, valid and not, and ends the connections in any way. Beside them, another client
 * asks and expects right responses. At the end the front must hold nothing.
 *
 * @throws Error if something is left.
 */
export async function sendRandomFrames(seed: number, sessions: number): Promise<RandomFrames> {
  await using backend = await openBackend((socket) => respond(socket, new Random(seed)));
  await using proxyPath = await openProxyPath(backend.port);
  let [begun, honest, wrong] = [0, 0, 0];
  let busy = clientsAtOnce;
  const attack = async () => {
    while (begun < sessions) {
      begun += 1;
      await sendSession(proxyPath.port, new Random(seed * 1_000_003 + begun));
    }
    busy -= 1;
  };
  const askAll = async () => {
    while (busy > 0) {
      using client = openHttp2Client(proxyPath.port);
      for (let asked = 0; asked < 5; asked += 1, honest += 1) {
        const { status, body } = await client.ask(
          { ":authority": "honest", ":path": "/honest", ":method": "POST" },
          "ask",
        );
        if (status !== 200 || body !== honestBody) wrong += 1;
      }
    }
  };
  await Promise.all([...Array.from({ length: clientsAtOnce }, attack), askAll()]);
  await proxyPath.empty();
  return { sessions: begun, served: proxyPath.ends.length, honest, wrong };
}

/** Answers each read that has a head: the honest client in full, others as the sequence says. */
function respond(socket: Socket, random: Random): void {
  socket.on("end", () => socket.end());
  socket.on("data", (bytes: Buffer) => {
    const text = bytes.toString("latin1");
    if (text.startsWith("POST /honest")) {
      return void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${honestBody.length}\r\n\r\n${honestBody}`);
    }
    if (!text.includes(" HTTP/1.1\r\n")) return;
    const body = "y".repeat(random.below(50_000));
    const chunk = body === "" ? "" : `${body.length.toString(16)}\r\n${body}\r\n`;
    const answer = random.pick([
      () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
      () => socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}0\r\nX-End: 1\r\n\r\n`),
      () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\ncut"),
      () => socket.destroy(),
      () => undefined,
    ]);
    answer();
  });
}

async function sendSession(port: number, random: Random): Promise<void> {
  const socket = await dialled(port);
  const script = new Script(random);
  for (let steps = random.below(stepsMax); steps > 0 && !socket.destroyed && !script.isStuck; steps -= 1) {
    if (random.once(10)) socket.pause();
    else socket.resume();
    await writeInParts(socket, script.next(), random);
  }
  socket.resume();
  for (let turns = random.below(30); turns > 0; turns -= 1) await turn();
  const end = random.below(4);
  if (end === 0) socket.resetAndDestroy();
  else if (end === 1) socket.destroy();
  else socket.end(() => setImmediate(() => socket.destroy()));
}

async function writeInParts(socket: Socket, bytes: Buffer, random: Random): Promise<void> {
  let at = 0;
  while (at < bytes.length && !socket.destroyed) {
    const length = random.once(3) ? 1 + random.below(bytes.length - at) : bytes.length - at;
    socket.write(bytes.subarray(at, at + length));
    at += length;
    if (random.once(3)) await turn();
  }
}

/** The frames of one client. */
class Script {
  readonly #random: Random;
  #stream = -1;
  #begun = false;
  /** The streams whose requests have not ended. */
  readonly #open = new Set<number>();
  /** Whether a head or trailers are unfinished: the protocol allows nothing but their rest. */
  isStuck = false;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): Buffer {
    const random = this.#random;
    if (!this.#begun) {
      this.#begun = true;
      return Buffer.concat([preface, settingsOf([4, random.pick([0, 1, 1_000, 65_535, 2 ** 31 - 1])])]);
    }
    const step = random.pick([
      this.#head,
      this.#head,
      this.#body,
      this.#body,
      this.#trailers,
      this.#control,
      this.#wrong,
    ]);
    return step.call(this);
  }

  /** An old stream or the last one. */
  get #any(): number {
    return Math.max(1, this.#stream - 2 * this.#random.below(3));
  }

  /** A stream that may have a body; rarely one that may not. */
  #withBody(isLast: boolean): number {
    const stream = this.#open.size === 0 || this.#random.once(50) ? this.#any : this.#random.pick([...this.#open]);
    if (isLast) this.#open.delete(stream);
    return stream;
  }

  #head(): Buffer {
    const random = this.#random;
    this.#stream += 2;
    const method = random.pick(["GET", "POST", "POST", "CONNECT"]);
    const own = fieldsOf(method);
    const grpc = [["content-type", "application/grpc"]] as const;
    const large = Array.from({ length: random.pick([0, 1, 20, 600]) }, (_, at) => [`x-${at}`, "v"] as const);
    const block = blockOf([...own, ...(random.once(5) ? grpc : []), ...large]);
    const end = random.once(2) ? flag.endStream : 0;
    const stream = this.#stream;
    if (end === 0) this.#open.add(stream);
    if (!random.once(3)) return frameOf({ type: frame.headers, flags: flag.endHeaders | end, stream }, block);
    const cut = random.below(block.length);
    const begin = frameOf({ type: frame.headers, flags: end, stream }, block.subarray(0, cut));
    const rest = frameOf({ type: frame.continuation, flags: flag.endHeaders, stream }, block.subarray(cut));
    this.isStuck = random.once(6);
    return this.isStuck ? begin : Buffer.concat([begin, rest]);
  }

  #body(): Buffer {
    if (this.#open.size === 0) return this.#head();
    const flags = this.#random.once(4) ? flag.endStream : 0;
    const stream = this.#withBody(flags !== 0);
    return frameOf({ type: frame.data, flags, stream }, Buffer.alloc(this.#random.below(9_000)));
  }

  #trailers(): Buffer {
    if (this.#open.size === 0) return this.#head();
    this.isStuck = this.#random.once(6);
    const flags = flag.endStream | (this.isStuck ? 0 : flag.endHeaders);
    return headersOf(this.#withBody(true), [["x-end", "1".repeat(this.#random.below(3_000))]], flags);
  }

  #control(): Buffer {
    const random = this.#random;
    const stream = this.#any;
    return random.pick([
      () => frameOf({ type: frame.ping }, Buffer.alloc(8)),
      () => settingsOf([3, random.below(200)], [4, random.below(100_000)]),
      () => frameOf({ type: frame.windowUpdate, stream: random.pick([0, stream]) }, uint32(1 + random.below(100_000))),
      () => frameOf({ type: frame.reset, stream }, uint32(random.below(14))),
      () => frameOf({ type: frame.priority, stream }, Buffer.alloc(5)),
      () => frameOf({ type: frame.settings, flags: flag.ack }),
    ])();
  }

  /** Frames that the protocol forbids, or that nobody knows. They are rare, because most of them end the connection. */
  #wrong(): Buffer {
    const random = this.#random;
    if (!random.once(8)) return frameOf({ type: 10 + random.below(200) }, Buffer.alloc(random.below(100)));
    const type = random.below(10);
    const garbage = Buffer.from(Array.from({ length: random.below(60) }, () => random.below(256)));
    return frameOf({ type, flags: random.below(256), stream: random.pick([0, 1, 2, this.#any]) }, garbage);
  }
}
