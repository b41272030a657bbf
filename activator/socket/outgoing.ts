import type { Socket } from "node:net";
import type { ReadPlace } from "./read-place.ts";

/** What is shorter than this goes out as text together with what stands beside it: one string, one write. */
const textBytesMax = 4_096;

/** Collects what goes to a socket in one turn, so that a head and what follows it leave in one call. */
export class Outgoing {
  readonly #socket: Socket;
  #text = "";
  #isCorked = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** One character for each byte. */
  text(text: string): void {
    this.#text += text;
  }

  /** A part of what `place` read last. */
  bytes(place: ReadPlace, bytes: Buffer, from: number, to: number): void {
    if (to - from < textBytesMax) this.#text += bytes.toString("latin1", from, to);
    else this.piece(place.part(bytes, from, to));
  }

  /** Bytes that nobody else will change. */
  piece(piece: Buffer): void {
    if (!this.#isCorked) this.#socket.cork();
    this.#isCorked = true;
    this.#writeText();
    this.#socket.write(piece);
  }

  flush(): void {
    this.#writeText();
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#socket.uncork();
  }

  #writeText(): void {
    if (this.#text === "") return;
    const text = this.#text;
    this.#text = "";
    this.#socket.write(text, "latin1");
  }
}
