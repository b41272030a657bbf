import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { TurnoverSet } from "../../../lib/data/turnover.ts";
import { guarded, runGuarded } from "../../../lib/guard/guard.ts";
import { ActivatorError } from "../../failures/errors-for-clients.ts";
import type { YieldedConnection } from "../../front.ts";
import type { ClientOrigin } from "../../socket/client-origin.ts";
import { holdDescriptor } from "../../socket/open-sockets.ts";
import { resetSocket } from "../../socket/reset-socket.ts";
import type { WireSocket } from "../../socket/wire-socket.ts";
import type { Watched } from "../../sweep.ts";
import { ControlFrames } from "../control-frames.ts";
import { hasGivenUp } from "../given-up.ts";
import { detachStream } from "../node-internals/detach-stream.ts";
import { dropOrigin, freeLast, nativeHandle } from "../node-internals/native-handles.ts";
import { StreamTables } from "../node-internals/stream-tables.ts";
import { type Offence, offenceOf } from "../offences.ts";
import { ReadShare } from "../read-share.ts";
import { beginInTurn } from "./begin-in-turn.ts";
import { cutStream, isCutBy } from "./cut-stream.ts";
import { fieldValue, type RawFields, textLength } from "./field-lines.ts";
import { refuseStream } from "./refuse-stream.ts";
import { StreamBody } from "./request-body.ts";
import type { SessionHost } from "./session-host.ts";
import { StreamExchange } from "./stream-exchange.ts";
import { StreamTurns } from "./stream-turns.ts";
import { UnfinishedFields } from "./unfinished-fields.ts";

/** How long the client may take to end its side after our end, in milliseconds. */
const lingerMs = 2_000;

/** The limits for PING, SETTINGS and the like. gRPC clients in Go measure the bandwidth: a PING for every few frames of data that they read. */
const controlFrames = { atOnce: 10_000, perStep: 1_000 };

/** The last stream of a GOAWAY that only announces the end (RFC 9113, 6.8). */
const anyStream = 2 ** 31 - 1;

/** A stream that waits for its turn. */
interface ArrivedStream {
  readonly stream: ServerHttp2Stream;
  readonly fields: RawFields;
  readonly isEnded: boolean;
  readonly body: StreamBody;
}

/** One connection of a client that speaks HTTP/2. */
export class ClientSession implements Watched {
  sweepIndex = -1;
  readonly #socket: WireSocket | TLSSocket;
  readonly #host: SessionHost;
  readonly #origin: ClientOrigin;
  readonly #descriptor: Disposable | undefined;
  #session: ServerHttp2Session | undefined;
  #fields: UnfinishedFields | undefined;
  /** The native part of the session. */
  #native: object | undefined;
  #tables: StreamTables | undefined;
  readonly #share: ReadShare;
  readonly #turns: StreamTurns<ArrivedStream>;
  readonly #streams = new TurnoverSet<ServerHttp2Stream>();
  /** Of a frame that was reported: the bytes of its data, and of all that it has, decoded. */
  readonly #reported = (dataBytes: number, bytes = dataBytes) => {
    this.#fields?.reported(dataBytes);
    this.#share.counted(bytes);
  };
  /** Whether the first request has arrived, or none is expected any more. */
  #settled = false;
  #announced = false;
  #closing = false;
  readonly #control = new ControlFrames(controlFrames);
  #hasOffended = false;
  /** Monotonic milliseconds at which the connection is closed while no stream is open. */
  #dueMs = Number.POSITIVE_INFINITY;
  /** The time that its first request may take once it has begun, in milliseconds. */
  readonly #beginMs: number;

  constructor(connection: YieldedConnection, host: SessionHost) {
    const { socket, dueMs, origin } = connection;
    this.#socket = socket;
    this.#share = new ReadShare(socket);
    this.#turns = new StreamTurns((arrived) => this.#open(arrived), this.#share);
    this.#host = host;
    this.#beginMs = dueMs - host.nowMs();
    this.#origin = origin;
    socket.on(
      "close",
      guarded("http-front", () => this.#closed()),
    );
    if (!("reader" in socket)) {
      this.#descriptor = holdDescriptor();
      socket.on("error", () => {}); // "close" follows
    }
    beginInTurn(connection, this, host.heads);
  }

  begin(socket: Socket): void {
    const session = performServerHandshake(socket, this.#host.sessionOptions);
    this.#share.begin();
    this.#dueMs = this.#host.nowMs() + this.#beginMs;
    this.#session = session;
    this.#native = nativeHandle(session);
    this.#tables = new StreamTables(session);
    this.#fields = this.#watchFields(session);
    session.on("error", (error) => this.#failed(error));
    const cut = () => this.cut();
    isCutBy(session, cut);
    session.on(
      "stream",
      guarded(
        "http-front",
        (stream, _headers, flags, fields) => this.#take(stream, flags, fields),
        (stream) => cutStream(stream),
      ),
    );
    const counted = guarded("http-front", () => this.#countControlFrame(), cut);
    this.#control.watch(session, counted, () => this.#streams.size);
    // Node closes the session too, and says so in a GOAWAY of ours.
    session.on(
      "goaway",
      guarded("http-front", () => this.leave(), cut),
    );
    // Node takes what was read before in the next tick, and needs the session until then.
    if (this.#host.leaving) setImmediate(() => runGuarded("http-front", () => this.leave()));
  }

  #watchFields(session: ServerHttp2Session): UnfinishedFields {
    const { heads, listBytesMax } = this.#host;
    const of = { session, socket: this.#socket, streams: this.#streams, cut: () => this.cut() };
    return new UnfinishedFields({ ...of, budget: heads, listBytesMax });
  }

  #take(stream: ServerHttp2Stream, flags: number, fields: RawFields): void {
    stream.on("error", () => {}); // "close" follows
    this.#fields?.headEnded(stream.id ?? 0);
    const bytes = textLength(fields);
    this.#share.head(bytes);
    if (stream.closed || stream.destroyed) return; // reset before its head was reported
    dropOrigin(stream);
    this.#tables?.streamAdded();
    if (!this.#turns.hasRoom(bytes)) return this.#refuse(stream);
    const isEnded = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    this.#streams.add(stream);
    const body = new StreamBody(stream, isEnded, this.#reported);
    const [session, native] = [this.#native, nativeHandle(stream)];
    const closed = () => {
      if (!isEnded && !body.hasEnded) freeLast(session, native);
      this.#streamClosed(stream);
      detachStream(stream);
    };
    stream.on("close", guarded("http-front", closed));
    this.#host.expected();
    this.#turns.add({ stream, fields, isEnded, body }, bytes);
  }

  /** The client may send it again on any connection: nothing of it was served. */
  #refuse(stream: ServerHttp2Stream): void {
    this.#host.streamRefused();
    this.#settle();
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
  }

  #open({ stream, fields, isEnded, body }: ArrivedStream): void {
    const begin = () => {
      if (stream.closed || stream.destroyed) return;
      if (!stream.session || !this.#host.room.hasRoom(stream.session)) return this.#refuse(stream);
      if (this.#host.draining) this.announceEnd();
      const exchange = this.#exchangeOf({ stream, fields, isEnded, body });
      if (exchange?.answerable) exchange.serve();
    };
    runGuarded("http-front", begin, () => cutStream(stream));
    this.#settle();
    this.#host.settled();
  }

  #exchangeOf({ stream, fields, isEnded, body }: ArrivedStream): StreamExchange | undefined {
    try {
      const request = this.#host.requests.read(fields, { origin: this.#origin, isEnded });
      return new StreamExchange(stream, request, body, this.#host);
    } catch (error) {
      if (!(error instanceof ActivatorError)) throw error;
      this.#host.refused(error);
      body.discard();
      refuseStream(stream, error, { host: this.#host, isHead: fieldValue(fields, ":method") === "HEAD" });
      return undefined;
    }
  }

  #streamClosed(stream: ServerHttp2Stream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    this.#dueMs = this.#host.nowMs() + (this.#closing ? lingerMs : this.#host.keepAliveTimeoutMs);
    if (this.#announced) this.leave();
  }

  check(nowMs: number): void {
    this.#control.check();
    this.#fields?.check();
    this.#share.check();
    if (this.#streams.size > 0) return this.#checkStreams();
    if (nowMs < this.#dueMs) return;
    if (this.#closing || !this.#settled) this.cut();
    else this.leave();
  }

  #checkStreams(): void {
    const session = this.#session;
    if (!session || !(this.#announced || this.#closing) || !hasGivenUp(session, this.#streams, this.#share)) return;
    this.#offended("protocol");
    this.#end(constants.NGHTTP2_PROTOCOL_ERROR);
  }

  /**
   * Tells the client to open further streams on another connection, and closes this one after the last stream. Streams that arrive
   * before that are served. Of later ones the client learns that they were not, because nghttp2 reads none without an open stream.
   */
  announceEnd(): void {
    if (this.#announced || this.#closing || !this.#session || this.#session.destroyed) return;
    if (this.#streams.size === 0 && this.#settled) return this.leave();
    if (this.#streams.size === 0) return; // its first request is still served
    this.#announced = true;
    this.#session.goaway(constants.NGHTTP2_NO_ERROR, anyStream);
  }

  /** Accepts no further streams, and closes the connection once the open ones have ended. */
  leave(): void {
    if (this.#closing || !this.#session) return;
    this.#closing = true;
    this.#settle();
    if (this.#streams.size === 0) this.#dueMs = this.#host.nowMs() + lingerMs;
    if (!this.#session.destroyed) this.#session.close();
  }

  /** Closes the connection at once. Open streams are reset before, because a response without a length would look complete. */
  cut(): void {
    if (this.#streams.size === 0) return this.#drop();
    for (const stream of this.#streams) cutStream(stream);
    setImmediate(() => runGuarded("http-front", () => this.#drop())); // Node sends the resets before
  }

  #drop(): void {
    this.#session?.destroy();
    if ("reset" in this.#socket) this.#socket.reset();
    else resetSocket(this.#socket);
  }

  /** HTTP/2 has no half-closed connections: its client is gone. */
  clientEnded(): void {
    this.#session?.destroy();
    this.#socket.destroy();
  }

  #countControlFrame(): void {
    this.#reported(0);
    if (!this.#control.count() || this.#hasOffended) return;
    this.#offended("flood");
    this.#end(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  /** Ends the connection with that code. The client has a moment to read it. */
  #end(code: number): void {
    this.#closing = true;
    this.#dueMs = this.#host.nowMs() + lingerMs;
    // Not within the call of nghttp2 that reports a frame.
    setImmediate(() => runGuarded("http-front", () => this.#session?.destroy(undefined, code)));
  }

  /** Node ends the connection of a client that breaks the protocol or a limit. */
  #failed(error: Error): void {
    this.#closing = true;
    this.#dueMs = this.#host.nowMs() + lingerMs;
    const offence = offenceOf(error);
    if (offence) this.#offended(offence);
  }

  /** Counted once: until the session has ended, nghttp2 may report more of the same. */
  #offended(offence: Offence): void {
    if (this.#hasOffended) return;
    this.#hasOffended = true;
    this.#host.broke(offence);
  }

  #settle(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#host.settled();
  }

  #closed(): void {
    this.#descriptor?.[Symbol.dispose]();
    this.#share.close();
    this.#fields?.release();
    this.#fields = undefined;
    this.#closing = true;
    this.#native = undefined; // Node keeps this object until it frees the native part, if a SETTINGS frame was not acknowledged
    this.#settle();
    this.#host.closed(this);
  }
}
