import type { ClientHttp2Stream } from "node:http2";
import { guarded } from "../../../lib/guard/guard.ts";
import type { HeaderPair } from "../../request.ts";
import { GatheredBytes } from "../../socket/gathered-bytes.ts";
import { pairsLength } from "../front/field-lines.ts";
import { joinedBytesMax } from "../front/stream-writer.ts";
import { StreamReader } from "../stream-reader.ts";
import { turn, turnBytesMax } from "../turn.ts";
import { forwardedFields } from "./call-fields.ts";
import type { PodSession } from "./pod-session.ts";

/** Takes the body of a response as it arrives. */
export interface ResponseSink {
  /** Whether it can take more now. */
  readonly wantsResponse: boolean;
  responseBytes(bytes: Buffer): void;
  /** A part of the response is kept for now. */
  responseKept(): void;
  /** The sandbox has sent all of the response, although the sink may still have to take a part. */
  responseArrived(): void;
  /** All of the response was taken. */
  responseEnded(): void;
}

type CountingSession = Pick<PodSession, "counted" | "headCounted">;

/**
 * Reads the body of a sandbox's response as `StreamBody` does that of a request: what waits is one
 * buffer of one window, however small its frames are, and small frames of one turn are passed on together.
 */
export class CallResponse {
  /** What has arrived of them, until the client gets them behind all of the response. */
  readonly trailers: HeaderPair[] = [];
  readonly #stream: ClientHttp2Stream;
  readonly #sink: ResponseSink;
  readonly #reader: StreamReader;
  readonly #gathered = new GatheredBytes();
  readonly #endOfTurn: () => void;
  #hasEnded = false;
  #isEndTold = false;

  /** The session counts what arrives. `fail` ends the call after an error of ours. */
  constructor(stream: ClientHttp2Stream, sink: ResponseSink, session: CountingSession, fail: () => void) {
    this.#stream = stream;
    this.#endOfTurn = guarded("pod-connection", () => this.#flush(), fail);
    this.#sink = sink;
    const take = guarded("pod-connection", (bytes: Buffer) => this.#take(bytes), fail);
    this.#reader = new StreamReader(stream, (bytes) => {
      session.counted(bytes.length);
      take(bytes);
      return sink.wantsResponse;
    });
    const end = () => {
      this.#hasEnded = this.#reader.isWhole;
      if (this.#hasEnded) sink.responseArrived();
      this.#tellEnd();
    };
    stream.on("end", guarded("pod-connection", end, fail));
    const takeTrailers = (_: unknown, _flags: number, fields: readonly string[]) => {
      session.headCounted(fields);
      this.trailers.push(...forwardedFields(fields));
    };
    stream.on("trailers", guarded("pod-connection", takeTrailers, fail));
  }

  /** Whether the sandbox has ended it, although the sink may still have to take a part. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The memory of what the sink has yet to take. */
  get keptBytes(): number {
    return this.#gathered.capacity + pairsLength(this.trailers);
  }

  /** Reads on if the sink takes more. */
  readOn(): void {
    if (!this.#sink.wantsResponse) return;
    this.#flush();
    this.#tellEnd();
    if (!this.#hasEnded && this.#sink.wantsResponse && !this.#stream.destroyed) this.#reader.readMore();
  }

  #take(bytes: Buffer): void {
    if (bytes.length >= joinedBytesMax) this.#flush();
    if (this.#sink.wantsResponse && this.#gathered.length === 0) {
      if (bytes.length >= joinedBytesMax) return this.#sink.responseBytes(bytes);
      turn.atEnd(this.#endOfTurn);
    }
    this.#gathered.add(bytes);
    this.#sink.responseKept();
    if (this.#gathered.length >= turnBytesMax) this.#flush();
  }

  /** Passes on what was gathered, if the sink takes it. */
  #flush(): void {
    if (!this.#sink.wantsResponse) return;
    const kept = this.#gathered.take();
    if (kept) this.#sink.responseBytes(kept);
  }

  #tellEnd(): void {
    if (this.#hasEnded) this.#flush();
    if (!this.#hasEnded || this.#isEndTold || this.#gathered.length > 0 || !this.#sink.wantsResponse) return;
    this.#isEndTold = true;
    this.#sink.responseEnded();
  }
}
