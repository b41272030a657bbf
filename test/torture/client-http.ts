import { ByteCheck, downStream, upStream } from "./bytes.ts";
import { closed, type Ending, pour, readAtPace, watchEnding } from "./link.ts";
import { type Head, MessageReader } from "./message-reader.ts";
import { type ExchangePlan, type HttpSession, readsAll } from "./plan.ts";
import { type Connection, dialPlain, dialTls, type World } from "./world.ts";

/** What a client saw of one exchange. */
export interface Seen {
  readonly plan: ExchangePlan;
  readonly down: ByteCheck;
  asked: boolean;
  /** The whole request was written. */
  sent: boolean;
  status: number;
  /** The reason of an error of the activator. */
  reason: string;
  /** The id in the response. */
  answerOf: number | undefined;
  /** The response was read completely, by its own framing. */
  whole: boolean;
  /** The response ended with a FIN. */
  byClose: boolean;
  /** It is the last response of the connection. */
  last: boolean;
}

export interface SessionSeen {
  readonly exchanges: readonly Seen[];
  ending: Ending;
  /** The client reset the connection itself. */
  cut: boolean;
  /** The client could not speak before the activator's limit. */
  late: boolean;
  /** The state of the activator when nothing had moved for too long. */
  stuck: string | undefined;
  broken: string | undefined;
}

/** One connection of a client, with its requests and responses. */
export async function converseByHttp(session: HttpSession, world: World): Promise<SessionSeen> {
  for (const plan of session.exchanges) world.ledger.open(plan);
  const connection = session.tls ? dialTls(world) : dialPlain(world.http);
  const client = new HttpClient(session, connection);
  const { socket } = connection;
  const seen = client.seen;
  const ends = watchEnding(socket);
  using _watched = world.progress.watch(socket, (state) => {
    seen.stuck = state;
    connection.cut();
  });
  client.start();
  await closed(socket);
  seen.ending = ends.ending;
  seen.late = connection.isLate();
  return seen;
}

class HttpClient {
  readonly seen: SessionSeen;
  readonly #session: HttpSession;
  readonly #connection: Connection;
  readonly #reader: MessageReader;
  readonly #moreAnswered: (() => void)[] = [];
  #answered = 0;
  /** The exchange whose request is being sent, although its sandbox may have answered. */
  #sending: Seen | undefined;
  #isEnding = false;
  #moved = 0;

  constructor(session: HttpSession, connection: Connection) {
    this.#session = session;
    this.#connection = connection;
    const exchanges = session.exchanges.map((plan) => ({
      ...{ plan, down: new ByteCheck(downStream(plan.id)), asked: false, sent: false, status: 0 },
      ...{ reason: "", answerOf: undefined, whole: false, byClose: false, last: false },
    }));
    this.seen = { exchanges, ending: "open", cut: false, late: false, stuck: undefined, broken: undefined };
    this.#reader = new MessageReader("response", {
      head: (head) => this.#head(head),
      body: (bytes) => this.#current?.down.take(bytes),
      end: () => this.#end(),
      raw: () => {},
    });
  }

  start(): void {
    const { socket } = this.#connection;
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
    socket.on("end", () => this.#ended());
    socket.on("close", () => this.#wake());
    readAtPace(socket, this.#session.reading);
    void this.#ask();
  }

  get #current(): Seen | undefined {
    return this.seen.exchanges[this.#answered];
  }

  async #ask(): Promise<void> {
    const { socket } = this.#connection;
    for (const [index, seen] of this.seen.exchanges.entries()) {
      await this.#untilAnswered(index - this.#session.depth);
      if (!socket.writable || this.#isOver) return;
      seen.asked = true;
      this.#sending = seen;
      seen.sent = await this.#send(seen.plan, index);
      this.#sending = undefined;
      if (this.#isEnding) socket.end();
      if (!seen.plan.keepsAlive) return;
    }
  }

  /** Resolves with whether all of it was written. */
  async #send({ id, sandbox, method, minorVersion, keepsAlive, upload }: ExchangePlan, index: number) {
    const { socket } = this.#connection;
    const lines = [
      `${method} /t/${id} HTTP/1.${minorVersion}`,
      "Host: torture.test",
      `X-Sandbox-ID: ${sandbox}`,
      ...(keepsAlive === (minorVersion === 1) ? [] : [`Connection: ${keepsAlive ? "keep-alive" : "close"}`]),
      ...(upload?.framing === "length" ? [`Content-Length: ${upload.bytes}`] : []),
      ...(upload?.framing === "chunked" ? ["Transfer-Encoding: chunked"] : []),
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    this.#count(0);
    if (!upload) return true;
    const wrap = (piece: Buffer) => {
      this.#count(piece.length);
      return upload.framing === "chunked"
        ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")])
        : piece;
    };
    const { bytes, sending, pausesAt = bytes } = upload;
    const parts = { stream: upStream(id), sending, wrap };
    let isSent = await pour(socket, { ...parts, from: 0, to: pausesAt });
    if (pausesAt < bytes) {
      await this.#untilAnswered(index);
      isSent = await pour(socket, { ...parts, from: pausesAt, to: bytes });
    }
    if (isSent && upload.framing === "chunked") socket.write("0\r\n\r\n");
    return isSent;
  }

  #read(bytes: Buffer): void {
    this.#reader.push(bytes);
    this.seen.broken ??= this.#reader.broken;
    this.#count(bytes.length);
  }

  /** Resets the connection after the planned number of bytes. */
  #count(bytes: number): void {
    this.#moved += bytes;
    const { resetAt } = this.#session;
    if (resetAt === undefined || this.#moved < resetAt || this.#connection.socket.destroyed) return;
    this.seen.cut = true;
    this.#connection.cut();
  }

  #head({ start, fields }: Head): "body" | "nothing" | "head" {
    const seen = this.#current;
    const status = Number(start.slice(9, 12));
    if (status < 200) return "head";
    if (!seen) {
      this.seen.broken ??= `a response without a request: ${start}`;
      return "nothing";
    }
    seen.status = status;
    seen.reason = fields.get("x-rouse-reason") ?? "";
    seen.answerOf = fields.has("x-torture") ? Number(fields.get("x-torture")) : undefined;
    const isHead = seen.plan.method === "HEAD";
    seen.byClose = !isHead && !fields.has("content-length") && !fields.has("transfer-encoding");
    const said = fields.get("connection")?.toLowerCase() ?? "";
    const { keepsAlive, minorVersion } = seen.plan;
    seen.last = !keepsAlive || seen.byClose || said === "close" || (minorVersion === 0 && said !== "keep-alive");
    return isHead ? "nothing" : "body";
  }

  #end(): void {
    const seen = this.#current;
    if (!seen) return;
    seen.whole = true;
    this.#answered += 1;
    this.#wake();
    if (this.#isOver) this.#endSide();
  }

  /** Ends its side, but not within a request that its sandbox reads after its answer. */
  #endSide(): void {
    if (this.#sending && readsAll(this.#sending.plan)) this.#isEnding = true;
    else this.#connection.socket.end();
  }

  get #isOver(): boolean {
    const { exchanges } = this.seen;
    return this.#answered === exchanges.length || exchanges[this.#answered - 1]?.last === true;
  }

  #ended(): void {
    this.#reader.finish();
    this.#endSide();
  }

  /** Resolves once the exchange with this index is answered, or no more can be sent. */
  async #untilAnswered(index: number): Promise<void> {
    while (index >= this.#answered && this.#connection.socket.writable) {
      await new Promise<void>((resolve) => this.#moreAnswered.push(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#moreAnswered.splice(0)) resolve();
  }
}
