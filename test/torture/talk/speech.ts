import { bytesOf, downStream, upStream } from "../bytes.ts";
import type { TalkPlan } from "../plan.ts";
import { Base64Speech } from "./base64-speech.ts";
import { messageFraming, parseMessage, parseWebMessage } from "./message-framing.ts";
import { webSocketFraming } from "./web-socket-framing.ts";

/** How one side of a conversation writes its bytes, and reads those of the other side. */
export interface Speech {
  /** What it writes for these bytes of its stream. */
  encode(from: number, to: number): Buffer;
  /** What it writes behind all of them. */
  readonly last: Buffer;
  /** The bytes of the other side's stream within what has arrived. */
  decode(bytes: Buffer): Buffer;
  /** What has arrived against the form of the conversation. */
  readonly broken: string | undefined;
  /** The other side has said that it ends: the code of its close frame. */
  readonly closeCode: number | undefined;
  /** The payload of the frame with which the other side has ended; undefined: no such frame. */
  readonly closing: Buffer | undefined;
  /** What has arrived ends behind a frame, not within one. */
  readonly isBetween: boolean;
}

/** The head of a frame, whose payload follows. */
export interface FrameHead {
  readonly headBytes: number;
  readonly bytes: number;
  /** The payload is part of the stream. */
  readonly isData: boolean;
  /** With this the payload is masked. */
  readonly mask?: Buffer;
}

/** The frames of one side. */
export interface Framing {
  head(index: number, bytes: number, isLast: boolean): Buffer;
  readonly mask?: (index: number) => Buffer;
  /** What a side writes that says that it ends. */
  readonly close: Buffer;
}

/** Reads the head of a frame of the other side; undefined: it is not whole yet. @throws Error if it is malformed. */
export type ParseHead = (bytes: Buffer) => FrameHead | undefined;

export function speechOf(plan: TalkPlan, side: "client" | "pod"): Speech {
  const isClient = side === "client";
  const stream = isClient ? upStream(plan.id) : downStream(plan.id);
  const { frames } = plan;
  if (!frames) return new PlainSpeech(stream);
  const { [side]: own } = frames;
  const web = isClient ? plan.call?.web : undefined;
  const speech = new FramedSpeech({
    stream,
    bytes: plan[side].bytes,
    frameBytes: own.bytes,
    closes: own.closes,
    ...framingOf(plan, isClient),
  });
  return web?.isText ? new Base64Speech(speech) : speech;
}

function framingOf({ call }: TalkPlan, isClient: boolean): Pick<FramedOptions, "framing" | "parse"> {
  if (!call) return webSocketFraming(isClient);
  return { framing: messageFraming, parse: isClient && call.web ? parseWebMessage : parseMessage };
}

/** The bytes as they are. */
class PlainSpeech implements Speech {
  readonly #stream: number;
  readonly last: Buffer = Buffer.alloc(0);
  readonly broken = undefined;
  readonly closeCode = undefined;
  readonly closing = undefined;
  readonly isBetween = true;

  constructor(stream: number) {
    this.#stream = stream;
  }

  encode(from: number, to: number): Buffer {
    return bytesOf(this.#stream, from, to);
  }

  decode(bytes: Buffer): Buffer {
    return bytes;
  }
}

export interface FramedOptions {
  readonly stream: number;
  /** All that it sends. */
  readonly bytes: number;
  /** How many bytes of the stream each frame has, except the last. */
  readonly frameBytes: number;
  readonly closes: boolean;
  readonly framing: Framing;
  readonly parse: ParseHead;
}

/** The bytes in frames, which begin at multiples of their length. So any bytes can be written at a time. */
export class FramedSpeech implements Speech {
  readonly #options: FramedOptions;
  #head: Buffer = Buffer.alloc(0);
  #frame: FrameHead | undefined;
  #taken = 0;
  #closing: Buffer | undefined;
  broken: string | undefined;

  constructor(options: FramedOptions) {
    this.#options = options;
  }

  get last(): Buffer {
    const { closes, framing } = this.#options;
    return closes ? framing.close : Buffer.alloc(0);
  }

  get closeCode(): number | undefined {
    return this.#closing && this.#closing.length >= 2 ? this.#closing.readUInt16BE(0) : undefined;
  }

  get closing(): Buffer | undefined {
    return this.#closing;
  }

  get isBetween(): boolean {
    return this.#frame === undefined && this.#head.length === 0;
  }

  encode(from: number, to: number): Buffer {
    const { stream, bytes, frameBytes, framing } = this.#options;
    const parts: Buffer[] = [];
    for (let at = from; at < to; ) {
      const index = Math.floor(at / frameBytes);
      const begin = index * frameBytes;
      const end = Math.min(begin + frameBytes, bytes);
      if (at === begin) parts.push(framing.head(index, end - begin, end === bytes));
      const stop = Math.min(end, to);
      parts.push(masked(bytesOf(stream, at, stop), framing.mask?.(index), at - begin));
      at = stop;
    }
    return Buffer.concat(parts);
  }

  decode(bytes: Buffer): Buffer {
    const parts: Buffer[] = [];
    let rest = bytes;
    while (rest.length > 0 && this.broken === undefined) {
      if (!this.#frame) {
        rest = this.#readHead(rest);
        continue;
      }
      const { bytes: length, mask, isData } = this.#frame;
      const part = masked(rest.subarray(0, length - this.#taken), mask, this.#taken);
      if (isData) parts.push(part);
      else this.#closing = Buffer.concat([this.#closing ?? Buffer.alloc(0), part]);
      rest = rest.subarray(part.length);
      this.#taken += part.length;
      if (this.#taken === length) this.#frame = undefined;
    }
    return Buffer.concat(parts);
  }

  /** Returns what follows the head. */
  #readHead(bytes: Buffer): Buffer {
    const before = this.#head.length;
    const head = Buffer.concat([this.#head, bytes.subarray(0, headBytesMax)]);
    try {
      if (this.#closing) throw new Error("a frame behind the close frame");
      this.#frame = this.#options.parse(head);
    } catch (error) {
      this.broken = String(error);
    }
    this.#head = this.#frame ? Buffer.alloc(0) : head;
    this.#taken = 0;
    if (this.#frame && !this.#frame.isData) this.#closing = Buffer.alloc(0);
    const { headBytes, bytes: length } = this.#frame ?? { headBytes: before + bytes.length, bytes: 1 };
    if (length === 0) this.#frame = undefined;
    return bytes.subarray(headBytes - before);
  }
}

const headBytesMax = 14;

/** The mask applied, from this place in the frame on. */
function masked(bytes: Buffer, mask: Buffer | undefined, at: number): Buffer {
  if (!mask) return bytes;
  const changed = Buffer.from(bytes);
  for (let index = 0; index < changed.length; index += 1) {
    changed[index] = (changed[index] ?? 0) ^ (mask[(at + index) % mask.length] ?? 0);
  }
  return changed;
}
