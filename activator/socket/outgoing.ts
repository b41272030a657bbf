import type { Kept, ReadPlace } from "./read-place.ts";
import type { WireSocket } from "./wire-socket.ts";

/** Shorter pieces, in bytes, are sent as text: that costs less than a buffer, and a piece that waits holds its own bytes alone. */
export const textBytesMax = 4_096;

/** Collects the output of one turn, so that a head and the bytes behind it are sent in one call. */
export class Outgoing {
  readonly #socket: WireSocket;
  #text = "";
  #isCorked = false;

  constructor(socket: WireSocket) {
    this.#socket = socket;
  }

  /** One character per byte. */
  text(text: string): void {
    this.#text += text;
  }

  /** A part of the last read of `place`. A short one is sent together with the text next to it: one string, one write. */
  bytes(place: ReadPlace, bytes: Buffer, from: number, to: number): void {
    if (to - from < textBytesMax) this.#text += bytes.toString("latin1", from, to);
    else {
      this.#cork();
      place.write(this.#socket, bytes, from, to);
    }
  }

  /** Bytes that were kept until now. */
  kept({ bytes, write }: Kept): void {
    this.#cork();
    if (write) write(this.#socket);
    else this.#socket.write(bytes);
  }

  /** Bytes that nothing else will change. */
  piece(piece: Buffer): void {
    this.#cork();
    this.#socket.write(piece);
  }

  flush(): void {
    this.#writeText();
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#socket.uncork();
  }

  /** Later output follows the text and is sent with it. */
  #cork(): void {
    if (!this.#isCorked) this.#socket.cork();
    this.#isCorked = true;
    this.#writeText();
  }

  #writeText(): void {
    if (this.#text === "") return;
    const text = this.#text;
    this.#text = "";
    this.#socket.write(text, "latin1");
  }
}
