import { flag, frame } from "../../support/http2-frames.ts";

const headBytes = 9;
/** No side of the torture permits larger frames. */
const payloadMax = 16_384;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  /** Without padding, and without the priority of a head. */
  readonly payload: Buffer;
  /** What the padding takes of the windows. */
  readonly paddingBytes: number;
}

/** Takes frames apart, without any code of the product. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames that are whole now. @throws Error if one is malformed. */
  *push(bytes: Buffer): Generator<Frame> {
    let from = 0;
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (all.length - from >= headBytes) {
      const length = all.readUIntBE(from, 3);
      if (length > payloadMax) throw new Error(`a frame of ${length} bytes`);
      const to = from + headBytes + length;
      if (all.length < to) break;
      const [type = 0, flags = 0] = all.subarray(from + 3, from + 5);
      const stream = all.readUInt32BE(from + 5) & 0x7fff_ffff;
      yield unpadded({ type, flags, stream, payload: all.subarray(from + headBytes, to), paddingBytes: 0 });
      from = to;
    }
    this.#rest = all.subarray(from);
  }
}

function unpadded(seen: Frame): Frame {
  const { type, flags, payload } = seen;
  const isPadded = (type === frame.data || type === frame.headers) && (flags & flag.padded) !== 0;
  const padding = isPadded ? 1 + (payload[0] ?? 0) : 0;
  const hasPriority = type === frame.headers && (flags & priorityFlag) !== 0;
  const start = (isPadded ? 1 : 0) + (hasPriority ? 5 : 0);
  const end = payload.length - (isPadded ? padding - 1 : 0);
  if (end < start) throw new Error("a frame with more padding than bytes");
  return { ...seen, payload: payload.subarray(start, end), paddingBytes: padding };
}

const priorityFlag = 0x20;
