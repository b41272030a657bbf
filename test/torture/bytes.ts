/** Bytes that identify themselves: each word of eight bytes has the number of its stream and its own position in it. */
const wordBytes = 8;
const mark = 0x5000_0000;
const markBits = 0xf000_0000;
/** The number of streams. */
export const streamsMax = 0x0fff_ffff;

/** The bytes that one side sends in one exchange or conversation. */
export const upStream = (id: number): number => id * 2;
export const downStream = (id: number): number => id * 2 + 1;

/** The bytes of a stream from one offset up to another, in a new buffer. */
export function bytesOf(stream: number, from: number, to: number): Buffer {
  const first = Math.floor(from / wordBytes);
  const words = Math.ceil(to / wordBytes) - first;
  const filled = new Int32Array(words * 2);
  const tagged = (mark + stream) | 0;
  for (let index = 0; index < words; index += 1) {
    filled[index * 2] = tagged;
    filled[index * 2 + 1] = first + index;
  }
  const start = from - first * wordBytes;
  return Buffer.from(filled.buffer, start, to - from);
}

/** The position of wrong bytes, and their own position if they identify themselves. */
export interface WrongBytes {
  readonly at: number;
  readonly origin: { readonly stream: number; readonly offset: number } | undefined;
}

/** Compares received bytes with a stream. */
export class ByteCheck {
  readonly stream: number;
  #length = 0;
  #wrong: WrongBytes | undefined;
  #wrongBytes = 0;

  constructor(stream: number) {
    this.stream = stream;
  }

  /** The number of received bytes. */
  get length(): number {
    return this.#length;
  }

  /** The first wrong bytes. */
  get wrong(): WrongBytes | undefined {
    return this.#wrong;
  }

  get wrongBytes(): number {
    return this.#wrongBytes;
  }

  take(bytes: Buffer): void {
    const expected = bytesOf(this.stream, this.#length, this.#length + bytes.length);
    if (!expected.equals(bytes)) this.#compare(expected, bytes);
    this.#length += bytes.length;
  }

  #compare(expected: Buffer, came: Buffer): void {
    for (let at = 0; at < came.length; at += 1) {
      if (expected[at] === came[at]) continue;
      this.#wrongBytes += 1;
      this.#wrong ??= { at: this.#length + at, origin: originOf(came, at) };
    }
  }
}

/** The stream of these bytes, identified by two consecutive words. */
export function originOf(bytes: Buffer, at: number): WrongBytes["origin"] {
  // The first word may be partly right, so the search starts after it.
  for (let from = at; from < at + wordBytes * 2 && from + wordBytes * 2 <= bytes.length; from += 1) {
    const tagged = bytes.readUInt32LE(from);
    const index = bytes.readUInt32LE(from + 4);
    const isWord = (tagged & markBits) >>> 0 === mark && bytes.readUInt32LE(from + wordBytes) === tagged;
    if (!isWord || bytes.readUInt32LE(from + wordBytes + 4) !== index + 1) continue;
    return { stream: tagged - mark, offset: index * wordBytes - (from - at) };
  }
  return undefined;
}

/** A description for a finding. */
export function describeWrong({ wrong, wrongBytes, length, stream }: ByteCheck): string {
  if (!wrong) return `${length} right bytes`;
  const { at, origin } = wrong;
  const whose = origin
    ? origin.stream === stream
      ? `its own bytes of ${origin.offset}`
      : `bytes ${origin.offset} of ${nameOf(origin.stream)}`
    : "bytes of no stream";
  return `${wrongBytes} of ${length} bytes are wrong, from ${at} on, where ${whose} are`;
}

const nameOf = (stream: number) => `the ${stream % 2 === 0 ? "upload" : "response"} of ${Math.floor(stream / 2)}`;
