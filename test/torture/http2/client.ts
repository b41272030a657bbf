import { forbiddenFrames } from "../../malformed/forbidden-frames.ts";
import { ByteCheck, downStream, upStream } from "../bytes.ts";
import type { Seen } from "../client-http.ts";
import { closed, pour, readAtPace } from "../link.ts";
import { type ExchangePlan, type Http2Session, readsAll, type StreamPlan } from "../plan.ts";
import { type Connection, dialHttp2, type World } from "../world.ts";
import { FrameConnection } from "./frame-connection.ts";
import type { FrameStream } from "./frame-stream.ts";
import { type Fields, fieldOf } from "./hpack.ts";

/** What a client saw of one stream. */
export interface StreamSeen extends Seen {
  /** The client reset it. */
  cut: boolean;
  /** How it ended, if its response did not. */
  end: string;
}

export interface Http2Seen {
  readonly streams: readonly StreamSeen[];
  /** The client ended the connection in the middle. */
  cut: boolean;
  late: boolean;
  /** The state of the activator when nothing had moved for too long. */
  stuck: string | undefined;
  /** What arrived against the protocol. */
  broken: string | undefined;
  /** The code with which the activator has ended the connection. */
  goaway: number | undefined;
}

/** One connection of a client that speaks HTTP/2. */
export async function converseByHttp2(session: Http2Session, world: World): Promise<Http2Seen> {
  for (const { exchange } of session.streams) world.ledger.open(exchange);
  const connection = dialHttp2(session.tls, world);
  const { socket } = connection;
  const client = new Http2Client(session, connection);
  const { seen } = client;
  using _watched = world.progress.watch(socket, (state) => {
    seen.stuck = state;
    connection.cut();
  });
  await client.run();
  await closed(socket);
  seen.late = connection.isLate();
  seen.broken = client.broken;
  return seen;
}

class Http2Client {
  readonly seen: Http2Seen;
  readonly #session: Http2Session;
  readonly #connection: Connection;
  readonly #frames: FrameConnection;
  #moved = 0;

  constructor(session: Http2Session, connection: Connection) {
    this.#session = session;
    this.#connection = connection;
    this.#frames = new FrameConnection(connection.socket, "client", session.link);
    const streams = session.streams.map(({ exchange }) => unseen(exchange));
    this.seen = { streams, cut: false, late: false, stuck: undefined, broken: undefined, goaway: undefined };
  }

  get broken(): string | undefined {
    return this.#frames.broken;
  }

  /** Resolves once all streams have ended, and the end of the connection was sent. */
  async run(): Promise<void> {
    const { socket } = this.#connection;
    const { streams, depth, reading } = this.#session;
    socket.once("end", () => socket.end());
    readAtPace(socket, reading);
    const rest = [...streams.entries()];
    const next = async (): Promise<void> => {
      for (let each = rest.shift(); each && socket.writable; each = rest.shift()) await this.#ask(...each);
    };
    await Promise.all(Array.from({ length: depth }, next));
    this.seen.goaway = this.#frames.goaway;
    if (socket.writable) this.#frames.end();
  }

  async #ask(index: number, plan: StreamPlan): Promise<void> {
    const seen = this.seen.streams[index];
    if (!seen) return;
    const { exchange } = plan;
    seen.asked = true;
    const stream = this.#frames.open(headOf(exchange, this.#session.tls), !exchange.upload);
    const request = new StreamRequest(stream, plan, seen, (bytes) => this.#count(bytes));
    await request.run();
  }

  /** Ends the connection after the planned number of bytes. */
  #count(bytes: number): void {
    this.#moved += bytes;
    const { endAt, endsBy, offence } = this.#session;
    const { socket, cut } = this.#connection;
    if (endAt === undefined || this.#moved < endAt || this.seen.cut) return;
    this.seen.cut = true;
    if (endsBy === "reset") cut();
    else if (endsBy === "offence") this.#frames.offend(forbiddenFrames[offence] ?? Buffer.alloc(0));
    else socket.end();
  }
}

/** One request and its response. */
class StreamRequest {
  readonly #stream: FrameStream;
  readonly #plan: StreamPlan;
  readonly #seen: StreamSeen;
  readonly #count: (bytes: number) => void;
  readonly #answered = Promise.withResolvers<void>();
  #moved = 0;

  constructor(stream: FrameStream, plan: StreamPlan, seen: StreamSeen, count: (bytes: number) => void) {
    this.#stream = stream;
    this.#plan = plan;
    this.#seen = seen;
    this.#count = count;
  }

  /** Resolves once the stream is closed. */
  async run(): Promise<void> {
    const stream = this.#stream;
    const seen = this.#seen;
    stream.onHead = (fields) => this.#head(fields);
    stream.on("data", (bytes: Buffer) => {
      seen.down.take(bytes);
      this.#count(bytes.length);
      this.#move(bytes.length);
    });
    stream.on("end", () => {
      seen.whole = true;
      this.#answered.resolve();
      if (!readsAll(this.#plan.exchange)) stream.cut(); // nobody reads the rest of the request
    });
    const over = closed(stream).then(() => this.#answered.resolve());
    readAtPace(stream, this.#plan.reading);
    this.#move(0);
    await this.#send();
    await over;
    seen.end = stream.resetCode === undefined ? "the end of the connection" : `a reset with code ${stream.resetCode}`;
  }

  async #send(): Promise<void> {
    const stream = this.#stream;
    const seen = this.#seen;
    const { exchange, endsWithData } = this.#plan;
    const { upload } = exchange;
    if (!upload) return;
    const { bytes, pausesAt = bytes } = upload;
    if (endsWithData) stream.endsAt = bytes;
    const isHalfSent = await this.#sendPart(exchange, 0, pausesAt);
    if (pausesAt < bytes) await this.#answered.promise;
    seen.sent = isHalfSent && (await this.#sendPart(exchange, pausesAt, bytes));
    if (seen.sent) stream.end();
  }

  /** Sends no more than what comes before a planned reset. */
  async #sendPart({ id, upload }: ExchangePlan, from: number, to: number): Promise<boolean> {
    if (!upload || from >= to) return true;
    const last = Math.min(to, Math.max(from, this.#plan.resetAt ?? to));
    const wrap = (piece: Buffer) => {
      this.#count(piece.length);
      return piece;
    };
    const isSent = await pour(this.#stream, { stream: upStream(id), sending: upload.sending, wrap, from, to: last });
    this.#move(last - from);
    return isSent && last === to;
  }

  /** Resets the stream after the planned number of bytes. */
  #move(bytes: number): void {
    this.#moved += bytes;
    const { resetAt } = this.#plan;
    if (resetAt === undefined || this.#moved < resetAt || this.#stream.destroyed) return;
    this.#seen.cut = true;
    this.#stream.cut(this.#plan.resetCode);
  }

  #head(fields: Fields): void {
    const seen = this.#seen;
    seen.status = Number(fieldOf(fields, ":status"));
    seen.reason = fieldOf(fields, "x-rouse-reason") ?? "";
    const answerOf = fieldOf(fields, "x-torture");
    seen.answerOf = answerOf === undefined ? undefined : Number(answerOf);
  }
}

const unseen = (plan: ExchangePlan): StreamSeen => ({
  ...{ plan, down: new ByteCheck(downStream(plan.id)), asked: false, sent: false, status: 0, reason: "" },
  ...{ answerOf: undefined, whole: false, byClose: false, last: false, cut: false, end: "" },
});

const headOf = ({ id, method, sandbox, upload }: ExchangePlan, tls: boolean): Fields => [
  [":method", method],
  [":scheme", tls ? "https" : "http"],
  [":authority", "torture.test"],
  [":path", `/t/${id}`],
  ["x-sandbox-id", sandbox],
  ...(upload?.framing === "length" ? ([["content-length", String(upload.bytes)]] as const) : []),
];
