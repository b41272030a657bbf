import type { ClientHttp2Stream, ServerHttp2Stream } from "node:http2";
import type { Readable } from "node:stream";

const readNothing = () => {};

/**
 * Takes the place of Node's reader of a stream. Node reads a stream ahead by more than its window, and keeps each frame as an object
 * that holds a whole read of the connection.
 */
export class StreamReader {
  readonly #stream: ServerHttp2Stream | ClientHttp2Stream;
  readonly #take: (bytes: Buffer) => boolean;
  readonly #read: Readable["_read"];
  readonly #push: Readable["push"];
  /** The first end that Node reported is that of the body, not of a stream that was reset. */
  #isWhole = true;
  #isEndReported = false;

  /** `take` gets each frame, and returns whether the peer may send more at once. It must not throw. The end comes as "end". */
  constructor(stream: ServerHttp2Stream | ClientHttp2Stream, take: (bytes: Buffer) => boolean) {
    this.#stream = stream;
    this.#take = take;
    this.#read = stream._read;
    this.#push = stream.push;
    stream._read = readNothing;
    stream.push = this.#pushed.bind(this);
    stream.on("end", () => setImmediate(() => this.#closeReset())); // after the read that is in progress
  }

  /** Whether the body has come to its own end, after "end". */
  get isWhole(): boolean {
    return this.#isWhole && !this.#stream.aborted;
  }

  /** Whether the peer has ended its side of the stream. */
  get hasEnded(): boolean {
    return this.#isEndReported && this.isWhole;
  }

  /** Lets the peer send more than its window. */
  readMore(): void {
    this.#read.call(this.#stream, 0);
  }

  #pushed(bytes: Buffer | null): boolean {
    return bytes === null ? this.#ended() : this.#take(bytes);
  }

  /**
   * Node calls it for the end of the body, and for a stream that was reset without an error. For a body that ends a stream it calls it
   * twice, perhaps before anyone learns of the first end.
   */
  #ended(): boolean {
    if (!this.#isEndReported) this.#isWhole = !this.#stream.closed;
    this.#isEndReported = true;
    this.#push.call(this.#stream, null);
    this.#stream.read(0); // makes Node report the end
    return false;
  }

  /**
   * A stream that was reset without an error takes no more bytes. But Node waits for those that were written to it, and would never
   * close it. All others have learnt of the end before.
   */
  #closeReset(): void {
    const stream = this.#stream;
    if (stream.closed && !stream.destroyed) stream.destroy();
  }
}
