import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import type { Random } from "../../http1/random.ts";
import {
  blockOf,
  flag,
  frame,
  frameOf,
  headersOf,
  preface,
  type SeenFrame,
  settingsOf,
  takeFrame,
  uint32,
} from "../../support/http2-frames.ts";
import { forbiddenFrames } from "../forbidden-frames.ts";

const window = 65_535;
const dataBytes = 16_384;
const callBytesMax = 8_000_000;
const head = [
  [":status", "200"],
  ["content-type", "application/grpc"],
] as const;
const pings = Array.from({ length: 20 }, () => frameOf({ type: frame.ping }, Buffer.alloc(8)));
const forbidden = Object.values(forbiddenFrames);
const trailers = [["grpc-status", "0"]] as const;

/** One connection of a sandbox that speaks gRPC, and answers calls as the sequence says. */
export class GrpcConnection {
  readonly #socket: Socket;
  readonly #random: Random;
  #rest: Buffer = Buffer.alloc(0);
  #isGreeted = false;
  #window = window;
  /** What each stream that sends on may still send: by its window, and at all. */
  readonly #sending = new Map<number, { window: number; left: number }>();

  constructor(socket: Socket, random: Random) {
    this.#socket = socket;
    this.#random = random;
    const settings = random.pick([settingsOf(), settingsOf([3, 1]), settingsOf([4, 10]), settingsOf([4, 2 ** 31 - 1])]);
    if (random.once(8)) void this.#later(() => this.#write(settings));
    else this.#write(settings);
  }

  take(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    if (!this.#isGreeted && this.#rest.length < preface.length) return;
    if (!this.#isGreeted) this.#rest = this.#rest.subarray(preface.length);
    this.#isGreeted = true;
    for (let seen = takeFrame(this.#rest); seen; seen = takeFrame(this.#rest)) {
      this.#rest = this.#rest.subarray(9 + seen.payload.length);
      this.#see(seen);
    }
  }

  #see({ type, flags, stream, payload }: SeenFrame): void {
    if (type === frame.settings && flags === 0) this.#write(frameOf({ type: frame.settings, flags: flag.ack }));
    if (type === frame.ping && flags === 0) this.#write(frameOf({ type: frame.ping, flags: flag.ack }, payload));
    if (type === frame.reset) this.#sending.delete(stream);
    if (type === frame.windowUpdate) {
      const sending = this.#sending.get(stream);
      if (sending) sending.window += payload.readUInt32BE(0);
      else if (stream === 0) this.#window += payload.readUInt32BE(0);
      this.#pump();
    }
    if (type === frame.data && payload.length > 0 && !this.#random.once(10)) this.#giveWindow(stream, payload.length);
    if (type === frame.headers && stream % 2 === 1) void this.#later(() => this.#answer(stream));
  }

  #giveWindow(stream: number, bytes: number): void {
    this.#write(
      frameOf({ type: frame.windowUpdate }, uint32(bytes)),
      frameOf({ type: frame.windowUpdate, stream }, uint32(bytes)),
    );
  }

  #answer(stream: number): void {
    const random = this.#random;
    const begin = headersOf(stream, head, flag.endHeaders);
    const byte = frameOf({ type: frame.data, stream }, Buffer.alloc(1 + random.below(2_000)));
    const end = headersOf(stream, trailers);
    random.pick<() => void>([
      () => this.#write(begin, byte, end),
      () => this.#write(headersOf(stream, [...head, ...trailers])),
      () => this.#sendOn(stream, begin),
      () => this.#sendOn(stream, begin),
      () => void this.#inTurns([begin, byte, byte, end]),
      () => void this.#inTurns([begin, byte, this.#resetOf(stream)]),
      () => void this.#inTurns([begin, byte, end, this.#resetOf(stream)]),
      () => this.#write(begin),
      () => this.#write(this.#resetOf(stream)),
      () => this.#write(frameOf({ type: frame.reset, stream }, uint32(7))),
      () => this.#write(this.#goaway(random.pick([0, stream, 2 ** 31 - 1]))),
      () => void this.#inTurns([begin, byte, this.#goaway(stream), byte, end]),
      () => this.#write(begin, byte, end, this.#goaway(stream), ...pings, byte),
      () => void this.#inTurns([begin, byte, end, ...pings, Buffer.concat([this.#goaway(stream), ...pings])]),
      () => void this.#inTurns([begin, byte, this.#goaway(stream), random.pick(forbidden)]),
      () => void this.#inTurns([this.#goaway(2 ** 31 - 1), random.pick(forbidden)]),
      () => this.#close(),
      () => void this.#inTurns([begin, byte]).then(() => this.#close()),
      () => this.#write(frameOf({ type: frame.headers, stream }, blockOf(head))),
      () => {},
    ])();
  }

  #resetOf(stream: number): Buffer {
    return frameOf({ type: frame.reset, stream }, uint32(this.#random.below(14)));
  }

  #goaway(last: number): Buffer {
    return frameOf({ type: frame.goaway }, Buffer.concat([uint32(last), uint32(this.#random.pick([0, 0, 2, 11]))]));
  }

  /** A response without an end: it sends as much as the windows allow. */
  #sendOn(stream: number, begin: Buffer): void {
    this.#write(begin);
    this.#sending.set(stream, { window, left: callBytesMax });
    this.#pump();
  }

  #pump(): void {
    for (const [stream, sending] of this.#sending) {
      while (this.#window >= dataBytes && sending.window >= dataBytes && sending.left > 0) {
        this.#window -= dataBytes;
        sending.window -= dataBytes;
        sending.left -= dataBytes;
        this.#write(frameOf({ type: frame.data, stream }, Buffer.alloc(dataBytes)));
      }
    }
  }

  #close(): void {
    const socket = this.#socket;
    this.#random.pick([() => socket.end(), () => socket.destroy(), () => socket.resetAndDestroy()])();
  }

  async #inTurns(frames: readonly Buffer[]): Promise<void> {
    for (const each of frames) {
      this.#write(each);
      if (this.#random.once(2)) await turn();
    }
  }

  async #later(then: () => void): Promise<void> {
    if (this.#random.once(3)) for (let turns = this.#random.below(30); turns > 0; turns -= 1) await turn();
    then();
  }

  #write(...frames: readonly Buffer[]): void {
    if (this.#socket.writable) this.#socket.write(Buffer.concat(frames));
  }
}
