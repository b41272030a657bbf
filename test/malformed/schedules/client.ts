import type { Socket } from "node:net";
import type { Random } from "../../http1/random.ts";
import { callFields } from "../../support/grpc/frame-sandbox.ts";
import { messageFrame } from "../../support/grpc/web-frames.ts";
import {
  blockOf,
  fieldsOf,
  flag,
  frame,
  frameOf,
  getFields,
  headersOf,
  preface,
  settingsOf,
  uint32,
} from "../../support/http2-frames.ts";
import { forbiddenFrames, goawayOf } from "../forbidden-frames.ts";

const widest = 2 ** 31 - 1;
const firstWindow = 65_535;
/** A stream beyond the request of a client. */
const streamsMax = 12;

const webSocketFields = getFields([":protocol", "websocket"], ["sec-websocket-version", "13"]).map(([name, value]) =>
  name === ":method" ? ([name, "CONNECT"] as const) : ([name, value] as const),
);
const typed = (type: string) =>
  callFields.map(([name, value]) => [name, name === "content-type" ? type : value] as const);
const to = (path: string, fields: readonly (readonly [string, string])[]) => [
  ...fields.filter(([name]) => name.startsWith(":") && name !== ":path"),
  [":path", path] as const,
  ...fields.filter(([name]) => !name.startsWith(":")),
];

/** Requests that a stream may begin with. The path says how a sandbox of HTTP/1.1 is to answer. */
const requests: Readonly<Record<string, () => readonly (readonly [string, string])[]>> = {
  get: () => getFields(),
  post: () => fieldsOf("POST"),
  endless: () => to("/endless", fieldsOf("POST")),
  early: () => to("/early", fieldsOf("POST")),
  head: () => fieldsOf("HEAD"),
  invalid: () => fieldsOf("CONNECT"),
  webSocket: () => webSocketFields,
  grpc: () => typed("application/grpc"),
  hurriedGrpc: () => [...typed("application/grpc"), ["grpc-timeout", "2S"]],
  web: () => typed("application/grpc-web"),
  webText: () => typed("application/grpc-web-text"),
};
const kinds = Object.keys(requests);

/** What a client of raw frames does. Each function returns what it did, for the notes. */
export class FuzzedClient {
  readonly socket: Socket;
  readonly #random: Random;
  #streams = 0;
  /** Streams whose requests have not ended. */
  readonly #open = new Set<number>();

  constructor(socket: Socket, random: Random, isWide: boolean) {
    this.socket = socket;
    this.#random = random;
    socket.on("data", () => {});
    const window = isWide ? widest : random.pick([0, 1, 1_000, firstWindow, widest]);
    const first = [preface, settingsOf([4, window])];
    if (isWide || random.once(2)) first.push(frameOf({ type: frame.windowUpdate }, uint32(widest - firstWindow)));
    this.#write(...first);
  }

  /** Opens a stream, perhaps with an open request. */
  open(kind: string = this.#random.pick(kinds)): string {
    if (this.#streams >= streamsMax) return this.windowUpdate();
    const random = this.#random;
    const stream = 2 * this.#streams + 1;
    this.#streams += 1;
    const fields = requests[kind]?.() ?? [];
    const isEnded = kind === "get" || (kind === "head" && random.once(2)) || (kind === "post" && random.once(3));
    if (!isEnded) this.#open.add(stream);
    const long = random.once(30) ? Array.from({ length: 300 }, (_, at) => [`x-${at}`, "v"] as const) : [];
    this.#write(headersOf(stream, [...fields, ...long], flag.endHeaders | (isEnded ? flag.endStream : 0)));
    return `open ${stream} ${kind}${isEnded ? ", ended" : ""}`;
  }

  data(): string {
    const random = this.#random;
    if (this.#open.size === 0) return this.open();
    const isEnd = random.once(4);
    const stream = this.#pickOpen(isEnd);
    const message = random.once(2)
      ? messageFrame("x".repeat(random.below(100)))
      : Buffer.alloc(random.below(16_000), 1);
    const times = random.pick([1, 1, 1, 4]);
    for (let sent = 1; sent <= times; sent += 1) {
      const flags = isEnd && sent === times ? flag.endStream : 0;
      this.#write(frameOf({ type: frame.data, flags, stream }, message));
    }
    return `data ${stream}, ${times} of ${message.length}${isEnd ? ", ended" : ""}`;
  }

  trailers(): string {
    if (this.#open.size === 0) return this.open();
    const stream = this.#pickOpen(true);
    const isCut = this.#random.once(8);
    const block = blockOf([["x-end", "1".repeat(this.#random.pick([1, 3_000]))]]);
    const flags = flag.endStream | (isCut ? 0 : flag.endHeaders);
    this.#write(frameOf({ type: frame.headers, flags, stream }, block));
    return `trailers ${stream}${isCut ? ", unfinished" : ""}`;
  }

  reset(): string {
    const stream = this.#any();
    const code = this.#random.below(14);
    this.#open.delete(stream);
    this.#write(frameOf({ type: frame.reset, stream }, uint32(code)));
    return `reset ${stream} ${code}`;
  }

  /** Resets all streams, in one write. */
  resetAll(): string {
    const code = this.#random.pick([0, 5, 8]);
    const all = Array.from({ length: this.#streams }, (_, at) => 2 * at + 1);
    this.#write(...all.map((stream) => frameOf({ type: frame.reset, stream }, uint32(code))));
    this.#open.clear();
    return `reset all ${code}`;
  }

  windowUpdate(): string {
    const stream = this.#random.once(3) ? 0 : this.#any();
    const by = this.#random.pick([1, 1_000, 100_000, 1_000_000, this.#random.once(10) ? 0 : 1]);
    this.#write(frameOf({ type: frame.windowUpdate, stream }, uint32(by)));
    return `window ${stream} ${by}`;
  }

  settings(): string {
    const window = this.#random.pick([0, 1, 1_000, firstWindow, 10_000_000]);
    this.#write(settingsOf([4, window]));
    return `settings ${window}`;
  }

  control(): string {
    const random = this.#random;
    const code = random.pick([0, 0, 1, 11]);
    const [name, bytes] = random.pick<readonly [string, Buffer]>([
      ["ping", frameOf({ type: frame.ping }, Buffer.alloc(8))],
      ["acknowledge", frameOf({ type: frame.settings, flags: flag.ack })],
      ["priority", frameOf({ type: frame.priority, stream: this.#any() }, Buffer.alloc(5))],
      [`goaway ${code}`, frameOf({ type: frame.goaway }, Buffer.concat([uint32(0), uint32(code)]))],
      ["garbage", random.once(6) ? Buffer.alloc(40, 7) : frameOf({ type: 200 }, Buffer.alloc(30))],
    ]);
    this.#write(bytes);
    return name;
  }

  /** A GOAWAY, and perhaps frames for which a connection must end. */
  leave(): string {
    const random = this.#random;
    const [name, bytes] = random.pick(Object.entries(forbiddenFrames));
    const order = random.pick<readonly Buffer[]>([[goawayOf(0)], [goawayOf(0), bytes], [goawayOf(0), bytes], [bytes]]);
    this.#write(...order);
    return `goaway and ${name}: ${order.length} frames`;
  }

  pause(): string {
    this.socket.pause();
    return "pause";
  }

  resume(): string {
    this.socket.resume();
    return "resume";
  }

  #pickOpen(isLast: boolean): number {
    const stream = this.#random.pick([...this.#open]);
    if (isLast) this.#open.delete(stream);
    return stream;
  }

  #any(): number {
    return 2 * this.#random.below(Math.max(1, this.#streams)) + 1;
  }

  #write(...frames: readonly Buffer[]): void {
    if (this.socket.writable) this.socket.write(Buffer.concat(frames));
  }
}

/** A call of gRPC-Web over HTTP/1.1, whole or not. */
export function webCallOf(random: Random): Buffer {
  const body = Buffer.concat([messageFrame("x".repeat(random.below(3_000))), messageFrame("y")]);
  const lines = ["POST /a/B HTTP/1.1", "Host: nova.test", "Content-Type: application/grpc-web+proto"];
  const head = `${lines.join("\r\n")}\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), random.once(3) ? body.subarray(0, 4) : body]);
}
