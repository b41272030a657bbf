import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { guarded, runGuarded } from "../../../lib/guard/guard.ts";
import { ActivatorError } from "../../failures/error-codes.ts";
import { toResponse } from "../../failures/error-response.ts";
import type { YieldedConnection } from "../../front.ts";
import { holdDescriptor } from "../../socket/open-sockets.ts";
import { peerAddress } from "../../socket/peer-address.ts";
import { resetSocket } from "../../socket/reset-socket.ts";
import { commonBuffer, type SocketReader, type WireSocket } from "../../socket/wire-socket.ts";
import type { Watched } from "../../sweep.ts";
import { AnswerTail } from "./answer-tail.ts";
import { cutStream } from "./cut-stream.ts";
import type { RawFields } from "./field-lines.ts";
import { respondAsIs } from "./respond-as-is.ts";
import type { Offence, SessionHost } from "./session-host.ts";
import { StreamExchange } from "./stream-exchange.ts";

/** How long the client may take to end its side after our end, in milliseconds. */
const lingerMs = 2_000;

/** How many PING and SETTINGS frames a client may send at once, and for each step of the sweep. Each makes the activator answer. */
const controlFramesAtOnce = 1_000;
const controlFramesPerStep = 10;

/** The last stream of a GOAWAY that only announces the end (RFC 9113, 6.8). */
const anyStream = 2 ** 31 - 1;

/** One connection of a client that speaks HTTP/2. */
export class ClientSession implements Watched {
  sweepIndex = -1;
  readonly #socket: WireSocket | TLSSocket;
  readonly #host: SessionHost;
  readonly #peer: string;
  readonly #scheme: "http" | "https";
  readonly #descriptor: Disposable | undefined;
  #session: ServerHttp2Session | undefined;
  #open = 0;
  /** Whether the first request has arrived, or none is expected any more. */
  #settled = false;
  #announced = false;
  #closing = false;
  #controlFrames = 0;
  /** Monotonic milliseconds at which the connection is closed while no stream is open. */
  #dueMs: number;

  constructor({ socket, early, dueMs }: YieldedConnection, host: SessionHost) {
    this.#socket = socket;
    this.#host = host;
    this.#dueMs = dueMs;
    this.#peer = peerAddress(socket);
    this.#scheme = "encrypted" in socket ? "https" : "http";
    socket.on(
      "close",
      guarded("http-front", () => this.#closed()),
    );
    if ("reader" in socket) this.#takeOver(socket, early ?? Buffer.alloc(0));
    else {
      this.#descriptor = holdDescriptor();
      socket.on("error", () => {}); // "close" follows
      this.#begin(socket);
    }
  }

  /** Begins after the read that is in progress: its end pauses the socket. */
  #takeOver(socket: WireSocket, early: Buffer): void {
    const reader = new HandedToNode(() => this.#clientEnded());
    socket.reader = reader;
    const begin = () => {
      if (socket.destroyed) return;
      const unread = socket.unread(early);
      reader.wantsMore = true;
      this.#begin(unread);
    };
    queueMicrotask(() => runGuarded("http-front", begin, () => this.cut()));
  }

  #begin(socket: Socket): void {
    const session = performServerHandshake(socket, this.#host.sessionOptions);
    this.#session = session;
    session.on("error", (error) => this.#failed(error));
    const cut = () => this.cut();
    session.on(
      "stream",
      guarded(
        "http-front",
        (stream, _headers, flags, fields) => this.#take(stream, flags, fields),
        (stream) => cutStream(stream),
      ),
    );
    const counted = guarded("http-front", () => this.#countControlFrame(), cut);
    session.on("ping", counted);
    session.on("remoteSettings", counted);
    if (this.#host.leaving) this.leave();
  }

  #take(stream: ServerHttp2Stream, flags: number, fields: RawFields): void {
    stream.on("error", () => {}); // "close" follows
    if (stream.closed || stream.destroyed) return; // reset before its head was reported
    if (!this.#host.hasStreamRoom()) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    this.#settle();
    this.#open += 1;
    stream.once(
      "close",
      guarded("http-front", () => this.#streamClosed()),
    );
    if (this.#host.draining) this.announceEnd();
    const isEnded = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    const exchange = this.#exchangeOf(stream, fields, isEnded);
    if (exchange?.answerable) exchange.serve();
  }

  #exchangeOf(stream: ServerHttp2Stream, fields: RawFields, isEnded: boolean): StreamExchange | undefined {
    try {
      const from = { peer: this.#peer, scheme: this.#scheme, isEnded };
      return new StreamExchange(stream, this.#host.requests.read(fields, from), isEnded, this.#host);
    } catch (error) {
      if (!(error instanceof ActivatorError)) throw error;
      this.#host.refused(error);
      this.#refuse(stream, error, fields[fields.indexOf(":method") + 1] === "HEAD");
      return undefined;
    }
  }

  /** Answers a stream without a readable request. */
  #refuse(stream: ServerHttp2Stream, error: ActivatorError, isHead: boolean): void {
    const { status, headers, body } = toResponse(error);
    const fields = headers.flatMap(([name, value]) => [name.toLowerCase(), value]);
    respondAsIs(stream, [":status", String(status), ...fields], { endStream: isHead });
    if (!isHead) stream.end(body);
    const reset = guarded("http-front", () => stream.close(constants.NGHTTP2_NO_ERROR));
    if (stream.writableFinished) reset();
    else stream.once("finish", reset);
    new AnswerTail(stream, this.#host.keepAliveTimeoutMs, this.#host).watch();
  }

  #streamClosed(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    this.#dueMs = this.#host.nowMs() + (this.#closing ? lingerMs : this.#host.keepAliveTimeoutMs);
    if (this.#announced) this.leave();
  }

  check(nowMs: number): void {
    this.#controlFrames = Math.max(0, this.#controlFrames - controlFramesPerStep);
    if (this.#open > 0 || nowMs < this.#dueMs) return;
    if (this.#closing || !this.#settled) this.cut();
    else this.leave();
  }

  /**
   * Tells the client to open further streams on another connection, and closes this one after the last stream. Streams that arrive
   * before that are served. Of later ones the client learns that they were not, because nghttp2 reads none without an open stream.
   */
  announceEnd(): void {
    if (this.#announced || this.#closing || !this.#session || this.#session.destroyed) return;
    if (this.#open === 0 && this.#settled) return this.leave();
    if (this.#open === 0) return; // its first request is still served
    this.#announced = true;
    this.#session.goaway(constants.NGHTTP2_NO_ERROR, anyStream);
  }

  /** Accepts no further streams, and closes the connection once the open ones have ended. */
  leave(): void {
    if (this.#closing || !this.#session) return;
    this.#closing = true;
    this.#settle();
    if (this.#open === 0) this.#dueMs = this.#host.nowMs() + lingerMs;
    if (!this.#session.destroyed) this.#session.close();
  }

  /** Closes the connection at once. */
  cut(): void {
    this.#session?.destroy();
    if ("reset" in this.#socket) this.#socket.reset();
    else resetSocket(this.#socket);
  }

  /** HTTP/2 has no half-closed connections: its client is gone. */
  #clientEnded(): void {
    this.#session?.destroy();
    this.#socket.destroy();
  }

  #countControlFrame(): void {
    this.#controlFrames += 1;
    if (this.#controlFrames <= controlFramesAtOnce || this.#closing) return;
    this.#host.broke("flood");
    this.#end(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  /** Ends the connection with that code. The client has a moment to read it. */
  #end(code: number): void {
    this.#closing = true;
    this.#dueMs = this.#host.nowMs() + lingerMs;
    this.#session?.destroy(undefined, code);
  }

  /** Node ends the connection of a client that breaks the protocol or a limit. */
  #failed(error: Error): void {
    this.#closing = true;
    this.#dueMs = this.#host.nowMs() + lingerMs;
    const offence = offenceOf(error);
    if (offence) this.#host.broke(offence);
  }

  #settle(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#host.settled();
  }

  #closed(): void {
    this.#descriptor?.[Symbol.dispose]();
    this.#closing = true;
    this.#settle();
    this.#host.closed(this);
  }
}

/** Undefined: the client is gone, or has itself ended the connection for an error. */
function offenceOf(error: Error): Offence | undefined {
  const code = "code" in error ? String(error.code) : "";
  if (!code.startsWith("ERR_HTTP2_") || code === "ERR_HTTP2_SESSION_ERROR") return undefined;
  return /FLOOD|TOO_MANY|CALM/i.test(`${code} ${error.message}`) ? "flood" : "protocol";
}

/** Node's session reads from the socket's handle. No byte comes here, except after the session has ended. */
class HandedToNode implements SocketReader {
  wantsMore = false;
  /** The client has ended its side. */
  readonly ended: () => void;

  constructor(ended: () => void) {
    this.ended = ended;
  }

  nextBuffer(): Buffer {
    return commonBuffer;
  }

  take(): void {}

  drained(): void {}

  writeFailed(): boolean {
    return false;
  }

  closed(): void {}
}
