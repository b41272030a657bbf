import { Duplex } from "node:stream";
import type { Fields } from "../http2/hpack.ts";
import { MessageReader } from "../message-reader.ts";
import type { Connection } from "../world.ts";

const lastChunk = "0\r\n\r\n";

/** One call over HTTP/1.1, with the form of a stream of HTTP/2. What is not read fills the buffers of the kernel. */
export class CallStream extends Duplex {
  onHead: (fields: Fields, isLast: boolean) => void = () => {};
  onTrailers: (fields: Fields) => void = () => {};
  readonly resetCode = undefined;
  /** What arrived is not HTTP. */
  broken: string | undefined;
  readonly #connection: Connection;
  readonly #length: number | undefined;
  #isSent = false;
  #hasEnd = false;

  /** `length`: of the request, if it is announced. */
  constructor(connection: Connection, length: number | undefined) {
    super({ allowHalfOpen: true, readableHighWaterMark: 1, writableHighWaterMark: 16_384, emitClose: true });
    this.#connection = connection;
    this.#length = length;
    this.on("error", () => {});
    const reader = new MessageReader("response", {
      head: ({ start, fields }) => this.#head(start.slice(9, 12), fields),
      body: (bytes) => {
        if (bytes.length > 0 && !this.push(bytes)) connection.socket.pause();
      },
      end: () => {
        this.#hasEnd = true;
        this.push(null);
      },
      raw() {},
    });
    connection.socket.on("data", (bytes: Buffer) => {
      reader.push(bytes);
      this.broken ??= reader.broken;
      if (this.broken !== undefined) this.cut();
    });
    connection.socket.once("end", () => {
      reader.finish();
      if (!this.#hasEnd) this.cut();
    });
    // A response that has come whole is read to its end first.
    connection.socket.once("close", () => {
      if (!this.#hasEnd) this.destroy();
      else if (!this.writableFinished) this.end();
    });
  }

  /** Resets the connection. */
  cut(): void {
    this.destroy();
  }

  sendHead(path: string, fields: Fields): void {
    const framing = this.#length === undefined ? "Transfer-Encoding: chunked" : `Content-Length: ${this.#length}`;
    const lines = [`POST ${path} HTTP/1.1`, "Host: torture.test", framing, ...fields.map((each) => each.join(": "))];
    this.#connection.socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  }

  #head(status: string, fields: ReadonlyMap<string, string>): "head" | "body" {
    if (status.startsWith("1")) return "head";
    this.onHead([[":status", status], ...fields], false);
    return "body";
  }

  override _read(): void {
    this.#connection.socket.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    const { socket } = this.#connection;
    if (!socket.writable) return done();
    const chunk = [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")];
    // A socket that is destroyed calls back, too.
    socket.write(this.#length === undefined ? Buffer.concat(chunk) : bytes, () => done());
  }

  override _final(done: () => void): void {
    this.#isSent = true;
    if (this.#length === undefined && this.#connection.socket.writable) this.#connection.socket.write(lastChunk);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#isSent && this.#hasEnd) this.#connection.socket.destroy();
    else this.#connection.cut();
    done(error);
  }
}
