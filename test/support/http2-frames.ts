import type { Socket } from "node:net";
import { dialled } from "./proxy-path.ts";

/** Types of frames (RFC 9113, 6). */
export const frame = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8 } as const;

export const preface: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export interface FrameHead {
  readonly type: number;
  readonly flags?: number;
  readonly stream?: number;
}

/** One frame, whether or not it is allowed. */
export function frameOf({ type, flags = 0, stream = 0 }: FrameHead, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A block of fields as literals without compression, one character per byte, in any order and spelling (RFC 7541, 6.2.2). */
export function blockOf(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0x00]), textOf(name), textOf(value)]));
}

function textOf(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  return Buffer.concat([numberOf(bytes.length, 7), bytes]);
}

/** An integer behind the bits of a prefix that are all 0 (RFC 7541, 5.1). */
export function numberOf(value: number, prefixBits: number): Buffer {
  const full = 2 ** prefixBits - 1;
  if (value < full) return Buffer.from([value]);
  const bytes = [full];
  let rest = value - full;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

export const settingsOf = (...pairs: readonly (readonly [id: number, value: number])[]): Buffer => {
  const payload = Buffer.alloc(pairs.length * 6);
  pairs.forEach(([id, value], at) => {
    payload.writeUInt16BE(id, at * 6);
    payload.writeUInt32BE(value, at * 6 + 2);
  });
  return frameOf({ type: frame.settings }, payload);
};

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** The fields of a plain GET, with more behind them. */
export const getFields = (...more: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] => [
  [":method", "GET"],
  [":scheme", "http"],
  [":authority", "nova.test"],
  [":path", "/"],
  ...more,
];

/** The same with another method. */
export const fieldsOf = (method: string): ReturnType<typeof getFields> =>
  getFields().map(([name, value]) => [name, name === ":method" ? method : value]);

export const headersOf = (
  stream: number,
  fields: readonly (readonly [string, string])[],
  flags: number = flag.endHeaders | flag.endStream,
): Buffer => frameOf({ type: frame.headers, flags, stream }, blockOf(fields));

/** The length of a frame that every side takes, in bytes. */
const frameBytes = 16_384;

/** A head that is longer than a frame may be. */
export function longHeadOf(stream: number, fields: readonly (readonly [string, string])[], flags: number): Buffer {
  const block = blockOf(fields);
  const parts = Array.from({ length: Math.ceil(block.length / frameBytes) }, (_, at) =>
    block.subarray(at * frameBytes, (at + 1) * frameBytes),
  );
  const frames = parts.map((part, at) => {
    const isLast = at === parts.length - 1;
    const first = at === 0 ? flags & ~flag.endHeaders : 0;
    const type = at === 0 ? frame.headers : frame.continuation;
    return frameOf({ type, stream, flags: isLast ? first | flag.endHeaders : first }, part);
  });
  return Buffer.concat(frames);
}

export interface SeenFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A client that sends any frames, and keeps those that it gets. */
export interface FrameClient extends Disposable {
  readonly socket: Socket;
  readonly frames: readonly SeenFrame[];
  send(...frames: readonly Buffer[]): void;
  /** Resolves with the first frame that fits; rejects when the connection is closed without one. */
  until(fits: (frame: SeenFrame) => boolean): Promise<SeenFrame>;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
}

/** Connects and sends the preface with the given frames behind it. */
export async function openFrameClient(
  port: number,
  first: readonly Buffer[] = [settingsOf()],
  dial: (port: number) => Promise<Socket> = dialled,
): Promise<FrameClient> {
  const socket = await dial(port);
  const frames: SeenFrame[] = [];
  let [rest, changed]: [Buffer, () => void] = [Buffer.alloc(0), () => {}];
  socket.on("data", (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    for (let seen = takeFrame(rest); seen; seen = takeFrame(rest)) {
      frames.push(seen);
      rest = rest.subarray(9 + seen.payload.length);
    }
    changed();
  });
  const closed = new Promise<void>((resolve) => socket.once("end", () => socket.end()).once("close", () => resolve()));
  void closed.then(() => changed());
  const client: FrameClient = {
    socket,
    frames,
    closed,
    send: (...more) => void socket.write(Buffer.concat(more)),
    async until(fits) {
      for (;;) {
        const found = frames.find(fits);
        if (found) return found;
        if (socket.destroyed) throw new Error(`closed after ${JSON.stringify(frames.map(({ type }) => type))}`);
        await new Promise<void>((resolve) => {
          changed = resolve;
        });
      }
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
  socket.write(Buffer.concat([preface, ...first]));
  return client;
}

/** The frame at the beginning, if it is whole. */
export function takeFrame(bytes: Buffer): SeenFrame | undefined {
  if (bytes.length < 9) return undefined;
  const length = bytes.readUIntBE(0, 3);
  if (bytes.length < 9 + length) return undefined;
  const payload = Buffer.alloc(length); // not from Node's pool: tests that keep frames measure memory
  bytes.copy(payload, 0, 9);
  return { type: bytes[3] ?? 0, flags: bytes[4] ?? 0, stream: bytes.readUInt32BE(5) & 0x7fffffff, payload };
}

/** Whether a frame ends that stream: its last frame, or a reset. */
export const endsStream =
  (stream: number) =>
  (seen: SeenFrame): boolean =>
    seen.stream === stream &&
    (seen.type === frame.reset ||
      ((seen.type === frame.data || seen.type === frame.headers) && (seen.flags & flag.endStream) !== 0));

/** The code of a reset or of a GOAWAY. */
export const codeOf = ({ type, payload }: SeenFrame): number => payload.readUInt32BE(type === frame.goaway ? 4 : 0);
