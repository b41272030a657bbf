import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { TurnoverMap } from "../../../lib/data/turnover.ts";
import { guarded, runGuarded } from "../../../lib/guard/guard.ts";
import { ageMs, type ClockReading } from "../../../lib/time/clock-jumps.ts";
import { Link } from "../../pod-connections/idle-list.ts";
import type { Place } from "../../pod-connections/place.ts";
import type { WireSocket } from "../../socket/wire-socket.ts";
import type { Watched } from "../../sweep.ts";
import { ControlFrames } from "../control-frames.ts";
import { textLength } from "../front/field-lines.ts";
import { hasGivenUp } from "../given-up.ts";
import { HandedToNode } from "../handed-to-node.ts";
import { detachStream } from "../node-internals/detach-stream.ts";
import { freeLast, nativeHandle } from "../node-internals/native-handles.ts";
import { dropSentRequest } from "../node-internals/sent-fields.ts";
import { StreamTables } from "../node-internals/stream-tables.ts";
import { isWriting } from "../node-internals/unsent-fields.ts";
import { ReadShare } from "../read-share.ts";
import { podSessionOptions } from "./pod-session-options.ts";

/** The maximum number of calls on one connection, whatever the sandbox allows. More get another connection. */
const callsMax = 100;
/** How long a connection without calls is kept, in milliseconds. */
const idleMs = 60_000;
const keepAliveProbeMs = 30_000;
/** The maximum bytes of heads that are not sent when their calls end. Beyond it, the sandbox gets another connection. */
const givenUpBytesMax = 262_144;
/** From this number of a stream on, the connection takes no further call: numbers end at 2^31 and are used once (RFC 9113, 5.1.1). */
const lastStreamNumber = 2_147_483_000;
/** The limits for PING, SETTINGS and the like, and for interim responses, of one connection. */
const extraFramesAtOnce = 2_000;
const extraFramesPerStep = 200;
/** How long a sandbox may take until its first frame, in milliseconds: a program that speaks another protocol may send none. */
export const settingsMs = 10_000;

/** The sessions of a port, as one of them sees them. */
export interface SessionOwner {
  now(): ClockReading;
  /** Its number of calls has changed, or what the sandbox has said of it. */
  changed(session: PodSession): void;
  /** Whether calls wait until its sandbox takes some. */
  isAwaited(session: PodSession): boolean;
  /** It has no call any more. */
  rested(session: PodSession): void;
  /** It has no call. More of the others may be idle than needed. */
  resting(nowMs: number): void;
  /** It takes no further call. */
  left(session: PodSession): void;
  /** Its connection is closed. */
  closed(session: PodSession): void;
}

/** One connection of HTTP/2 to a port of a Pod. Calls share it. */
export class PodSession implements Watched {
  sweepIndex = -1;
  readonly place: Place;
  readonly socket: WireSocket;
  readonly inPod = new Link<PodSession>(this);
  readonly inPort = new Link<PodSession>(this);
  /** It is counted among those that are not idle. */
  isInUse = false;
  readonly #owner: SessionOwner;
  readonly #session: ClientHttp2Session;
  /** The native part of the session. */
  readonly #native: object | undefined;
  readonly #tables: StreamTables;
  /** Those of the streams of its calls. */
  readonly #nativeOf = new TurnoverMap<ClientHttp2Stream, object | undefined>();
  readonly #share: ReadShare;
  #calls = 0;
  /** Bytes of heads whose calls ended before they were sent. */
  #givenUp = 0;
  #isLeaving = false;
  #isFlooded = false;
  readonly #control = new ControlFrames({ atOnce: extraFramesAtOnce, perStep: extraFramesPerStep });
  readonly #interim = guarded("pod-connection", (_: unknown, _flags: number, fields: readonly string[]) =>
    this.#countExtraFrame(textLength(fields)),
  );
  /** Undefined while it has calls. */
  #restedAt: ClockReading | undefined;
  /** Infinite once the sandbox has sent its settings. */
  #settledByMs: number;

  /** `socket`: a new connection, on which no byte was sent. */
  constructor(socket: WireSocket, place: Place, owner: SessionOwner) {
    this.socket = socket;
    this.#share = new ReadShare(socket);
    this.place = place;
    this.#owner = owner;
    const now = owner.now();
    this.#restedAt = now;
    this.#settledByMs = now.ticksMs + settingsMs;
    const reader = new HandedToNode(() => this.close());
    socket.reader = reader;
    socket.setKeepAlive(true, keepAliveProbeMs);
    socket.once(
      "close",
      guarded("pod-connection", () => this.#closed()),
    );
    const unread = socket.unread(noBytes);
    this.#session = connect("http://sandbox", { ...podSessionOptions, createConnection: () => unread });
    const read = () => {
      reader.wantsMore = true;
      this.#share.begin();
      socket.readOn(); // not before Node takes what is read
    };
    this.#session.once(
      "connect",
      guarded("pod-connection", read, () => this.close()),
    );
    this.#native = nativeHandle(this.#session);
    this.#tables = new StreamTables(this.#session);
    this.#session.on("error", () => this.#leave()); // the calls learn of it by the ends of their streams
    this.#session.on(
      "remoteSettings",
      guarded("pod-connection", () => this.#settled()),
    );
    this.#control.watch(
      this.#session,
      guarded("pod-connection", () => this.#countExtraFrame(0)),
      () => this.#calls,
    );
    const leave = guarded("pod-connection", () => this.#leave());
    this.#session.on("goaway", leave);
    this.#session.on("close", leave);
  }

  /** It takes no further call. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** How many calls the sandbox takes at a time on this connection. Undefined: it has not said that yet. */
  get room(): number | undefined {
    if (this.#settledByMs !== Number.POSITIVE_INFINITY) return undefined;
    return Math.min(this.#session.remoteSettings.maxConcurrentStreams ?? callsMax, callsMax);
  }

  /**
   * Whether it may take one more call. `expected`: how many calls another connection to the same port takes. Before the sandbox has
   * said anything, one call is sent (RFC 9113, 6.5.2: any number is allowed, but the sandbox may refuse them).
   */
  hasRoom(expected = 1): boolean {
    if (this.#isLeaving || this.#session.closed || this.#session.destroyed || this.socket.destroyed) return false;
    return this.#calls < (this.room ?? expected);
  }

  /**
   * Begins a call, with names and values in turn. Undefined: the connection has just ended. Call `headCounted` for the fields of its
   * response and its trailers, and `over` once its stream is closed.
   */
  begin(fields: readonly string[]): ClientHttp2Stream | undefined {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(fields, { endStream: false });
    } catch {
      return undefined;
    }
    dropSentRequest(stream);
    this.#tables.streamAdded();
    this.#calls += 1;
    this.#restedAt = undefined;
    this.#owner.changed(this);
    if ((stream.id ?? 0) >= lastStreamNumber) this.#leave();
    const keep = () => this.#nativeOf.set(stream, nativeHandle(stream));
    if (stream.pending) stream.once("ready", keep);
    else keep();
    stream.on("headers", this.#interim);
    return stream;
  }

  /** A part of a response has arrived, of so many bytes. */
  readonly counted = (bytes: number): void => this.#share.counted(bytes);

  /** The fields of a response have arrived, or its trailers. */
  readonly headCounted = (fields: readonly string[]): void => this.#share.head(textLength(fields));

  /** A call ends while so many bytes of its head may not be sent. While a write is in progress, nghttp2 keeps them. */
  gaveUp(bytes: number): void {
    if (bytes > 0 && isWriting(this.#session)) this.#givenUp += bytes;
    if (this.#givenUp > givenUpBytesMax) this.#leave();
  }

  /** The stream of a call is closed. `hasEnded`: the sandbox had ended its response. */
  over(stream: ClientHttp2Stream, hasEnded: boolean): void {
    const native = this.#nativeOf.get(stream);
    this.#nativeOf.delete(stream);
    if (!hasEnded) freeLast(this.#native, native);
    detachStream(stream);
    this.#calls -= 1;
    this.#owner.changed(this);
    this.unused();
  }

  /** A call has ended, or did not begin after all. Without any other, the connection is idle, and in the limits of idle ones. */
  unused(): void {
    if (this.#calls > 0) return;
    if (this.#isLeaving) return this.close();
    this.#restedAt = this.#owner.now();
    this.#owner.rested(this);
  }

  check(nowMs: number): void {
    this.#control.check();
    this.#share.check();
    if (this.#isLeaving && hasGivenUp(this.#session, this.#nativeOf.keys(), this.#share)) return this.close();
    if (this.#owner.isAwaited(this)) return; // what waits would open another connection
    if (this.#restedAt !== undefined) this.#owner.resting(nowMs);
    const isIdleTooLong = this.#restedAt !== undefined && nowMs - this.#restedAt.ticksMs >= idleMs;
    if (isIdleTooLong || nowMs >= this.#settledByMs) this.close();
  }

  /** Idle for so long, by one of the clocks, that its sandbox may have closed it unseen: the machine may have been suspended. */
  isStale(now: ClockReading): boolean {
    return this.#restedAt !== undefined && ageMs(this.#restedAt, now) >= idleMs;
  }

  /** The calls in progress go on: their own limits end them. */
  podGone(): void {
    this.#leave();
  }

  /** Closes the connection at once. Calls in progress are cut. */
  close(): void {
    this.#leave();
    this.#session.destroy();
    this.socket.destroy();
  }

  #closed(): void {
    this.#share.close();
    this.#owner.closed(this);
  }

  /** `bytes`: of its fields. */
  #countExtraFrame(bytes: number): void {
    this.#share.head(bytes);
    if (!this.#control.count() || this.#isFlooded) return;
    this.#isFlooded = true;
    // Not within the call of nghttp2 that reports a frame.
    setImmediate(() => runGuarded("pod-connection", () => this.close()));
  }

  /** A sandbox may send its settings again. */
  #settled(): void {
    this.#settledByMs = Number.POSITIVE_INFINITY;
    this.#owner.changed(this);
  }

  /** Takes no further call, and closes with the last. */
  #leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#owner.left(this);
    if (this.#calls === 0) this.close();
  }
}

const noBytes = Buffer.alloc(0);
