import type { Socket } from "node:net";
import { blockOf, flag, frame, frameOf, preface, settingsOf, uint32 } from "../../support/http2-frames.ts";
import { type Frame, FrameReader } from "./frame-reader.ts";
import { FrameStream, type StreamOwner } from "./frame-stream.ts";
import { FieldDecoder, type Fields } from "./hpack.ts";

/** How one side of a connection behaves. */
export interface FrameOptions {
  /** The initial window of each stream that it gives. */
  readonly windowBytes: number;
  /** Whether it gives more of the connection's window only when its streams are read. */
  readonly sharesWindow: boolean;
  /** The largest frame of data that it sends. */
  readonly frameBytes: number;
  /** The padding of each such frame; 0: none. */
  readonly paddingBytes: number;
}

/** The initial window of a connection, and of a stream before any SETTINGS (RFC 9113, 6.9.2). */
const initialWindow = 65_535;
const framePayloadMax = 16_384;
const setting = { initialWindow: 4, enablePush: 2 };

/** One side of a connection of HTTP/2, without any code of the product. It sends what its streams write, in any order of frames. */
export class FrameConnection implements StreamOwner {
  /** What arrived against the protocol. */
  broken: string | undefined;
  /** The code with which the other side has announced the end. */
  goaway: number | undefined;
  /** A request has arrived. */
  onStream: (stream: FrameStream, fields: Fields, isLast: boolean) => void = () => {};
  readonly streams = new Map<number, FrameStream>();
  readonly #socket: Socket;
  readonly #side: "client" | "server";
  readonly #options: FrameOptions;
  readonly #reader = new FrameReader();
  readonly #decoder = new FieldDecoder();
  #preface: Buffer | undefined;
  #block: { readonly first: Frame; readonly parts: Buffer[] } | undefined;
  #last = -1;
  #sendWindow = initialWindow;
  #receiveWindow = initialWindow;
  #windowOfOther = initialWindow;
  #owed = 0;

  constructor(socket: Socket, side: "client" | "server", options: FrameOptions) {
    this.#socket = socket;
    this.#side = side;
    this.#options = options;
    const settings = settingsOf([setting.enablePush, 0], [setting.initialWindow, options.windowBytes]);
    if (side === "client") socket.write(Buffer.concat([preface, settings]));
    else {
      this.#preface = Buffer.alloc(0);
      socket.write(settingsOf([setting.initialWindow, options.windowBytes]));
    }
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.once("close", () => {
      for (const stream of [...this.streams.values()]) stream.lost();
    });
  }

  /** Opens a stream of a client. */
  open(fields: Fields, isLast: boolean): FrameStream {
    this.#last += 2;
    const stream = this.#add(this.#last);
    stream.sendHead(fields, isLast);
    return stream;
  }

  /** Announces the end, and ends the connection. */
  end(): void {
    this.announceEnd();
    this.#socket.end();
  }

  /** Of a server: no stream behind those that have arrived is served. */
  announceEnd(): void {
    const last = this.#side === "server" ? this.#last : 0;
    this.#send(frameOf({ type: frame.goaway }, Buffer.concat([uint32(Math.max(0, last)), uint32(0)])));
  }

  /** Announces the end, and sends a frame for which the other side must end the connection at once. */
  offend(forbidden: Buffer): void {
    this.announceEnd();
    this.#send(forbidden);
  }

  // What its streams send.

  room({ sendWindow }: FrameStream): number {
    const { frameBytes, paddingBytes } = this.#options;
    const padding = paddingBytes > 0 ? paddingBytes + 1 : 0;
    return Math.min(frameBytes, framePayloadMax - padding, sendWindow - padding, this.#sendWindow - padding);
  }

  sendData(stream: FrameStream, bytes: Buffer, isLast: boolean, done: () => void): void {
    const padding = bytes.length > 0 ? this.#options.paddingBytes : 0;
    const payload = padding > 0 ? Buffer.concat([Buffer.from([padding]), bytes, Buffer.alloc(padding)]) : bytes;
    stream.sendWindow -= payload.length;
    this.#sendWindow -= payload.length;
    const flags = (isLast ? flag.endStream : 0) | (padding > 0 ? flag.padded : 0);
    this.#send(frameOf({ type: frame.data, flags, stream: stream.id }, payload), done);
  }

  sendFields({ id }: FrameStream, fields: Fields, isLast: boolean): void {
    const block = blockOf(fields);
    const flags = flag.endHeaders | (isLast ? flag.endStream : 0);
    this.#send(frameOf({ type: frame.headers, flags, stream: id }, block));
  }

  sendReset({ id }: FrameStream, code: number): void {
    this.#send(frameOf({ type: frame.reset, stream: id }, uint32(code)));
  }

  consumed(stream: FrameStream, bytes: number): void {
    if (!stream.destroyed && !stream.hasEnd) {
      stream.receiveWindow += bytes;
      this.#send(frameOf({ type: frame.windowUpdate, stream: stream.id }, uint32(bytes)));
    }
    if (this.#options.sharesWindow) this.#give(bytes);
  }

  closed({ id }: FrameStream): void {
    this.streams.delete(id);
  }

  #give(bytes: number): void {
    this.#owed += bytes;
    if (this.#owed < initialWindow / 4) return;
    this.#receiveWindow += this.#owed;
    this.#send(frameOf({ type: frame.windowUpdate }, uint32(this.#owed)));
    this.#owed = 0;
  }

  #add(id: number): FrameStream {
    const stream = new FrameStream(id, this);
    stream.sendWindow = this.#windowOfOther;
    // A client that has not read our SETTINGS yet uses the default.
    stream.receiveWindow = this.#side === "client" ? this.#options.windowBytes : initialWindow;
    this.streams.set(id, stream);
    return stream;
  }

  #send(bytes: Buffer, done?: () => void): void {
    if (this.#socket.writable) this.#socket.write(bytes, () => done?.());
  }

  // What the other side sends.

  #take(bytes: Buffer): void {
    if (this.broken !== undefined) return;
    try {
      const frames = this.#preface ? this.#afterPreface(bytes) : bytes;
      if (frames) for (const each of this.#reader.push(frames)) this.#takeFrame(each);
    } catch (error) {
      this.broken = String(error);
      this.#socket.destroy();
    }
  }

  #afterPreface(bytes: Buffer): Buffer | undefined {
    const all = Buffer.concat([this.#preface ?? Buffer.alloc(0), bytes]);
    const said = all.subarray(0, preface.length);
    if (!preface.subarray(0, said.length).equals(said)) throw new Error("no preface of HTTP/2");
    this.#preface = all.length < preface.length ? all : undefined;
    return this.#preface ? undefined : all.subarray(preface.length);
  }

  #takeFrame(seen: Frame): void {
    const { type, flags, stream, payload } = seen;
    if (this.#block && (type !== frame.continuation || stream !== this.#block.first.stream)) {
      throw new Error("a frame within a block of fields");
    }
    switch (type) {
      case frame.headers:
      case frame.continuation:
        return this.#takeBlock(seen);
      case frame.data:
        return this.#takeData(seen);
      case frame.settings:
        return (flags & flag.ack) === 0 ? this.#takeSettings(payload) : undefined;
      case frame.ping:
        if ((flags & flag.ack) === 0) this.#send(frameOf({ type: frame.ping, flags: flag.ack }, payload));
        return;
      case frame.windowUpdate:
        return this.#takeWindow(stream, payload.readUInt32BE(0));
      case frame.reset:
        return this.streams.get(stream)?.tookReset(payload.readUInt32BE(0));
      case frame.goaway:
        this.goaway = payload.readUInt32BE(4);
        return;
      default:
        if (type !== frame.priority) throw new Error(`a frame of type ${type}`);
    }
  }

  #takeBlock(seen: Frame): void {
    this.#block ??= { first: seen, parts: [] };
    const { first, parts } = this.#block;
    parts.push(seen.payload);
    if ((seen.flags & flag.endHeaders) === 0) return;
    this.#block = undefined;
    // Also for a stream that is gone: the table of the decoder changes.
    const fields = this.#decoder.decode(Buffer.concat(parts));
    const isLast = (first.flags & flag.endStream) !== 0;
    const known = this.streams.get(first.stream);
    if (known) return known.tookFields(fields, isLast);
    if (this.#side === "client" || first.stream <= this.#last) return;
    this.#last = first.stream;
    const stream = this.#add(first.stream);
    stream.onHead = (head, isEnded) => this.onStream(stream, head, isEnded);
    stream.tookFields(fields, isLast);
  }

  #takeData({ flags, stream: id, payload, paddingBytes }: Frame): void {
    const taken = payload.length + paddingBytes;
    this.#receiveWindow -= taken;
    if (this.#receiveWindow < 0) throw new Error("more data than the window of the connection");
    const stream = this.streams.get(id);
    if (!stream || !this.#options.sharesWindow) this.#give(taken);
    if (!stream) return;
    stream.receiveWindow -= taken;
    if (stream.receiveWindow < 0) throw new Error("more data than the window of its stream");
    if (stream.hasEnd) throw new Error("data behind the end of a stream");
    // A copy, because a stream that is not read would hold the whole read that brought a few bytes.
    stream.tookData(Buffer.from(payload), paddingBytes);
    if ((flags & flag.endStream) !== 0) stream.tookEnd();
  }

  #takeSettings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== setting.initialWindow) continue;
      const change = payload.readUInt32BE(at + 2) - this.#windowOfOther;
      this.#windowOfOther += change;
      for (const stream of this.streams.values()) stream.sendWindow += change;
    }
    this.#send(frameOf({ type: frame.settings, flags: flag.ack }));
    this.#pumpAll();
  }

  #takeWindow(id: number, bytes: number): void {
    const stream = this.streams.get(id);
    if (id === 0) {
      this.#sendWindow += bytes;
      this.#pumpAll();
    } else if (stream) {
      stream.sendWindow += bytes;
      stream.pump();
    }
  }

  #pumpAll(): void {
    for (const stream of [...this.streams.values()]) stream.pump();
  }
}
