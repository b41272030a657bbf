import { Http2Frames } from "./http2-frames.ts";

/** The client preface of HTTP/2 (RFC 9113, 3.4). No other protocol begins like that. */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** The kind of a read from the sandbox: an answer to the client's last data, the rest of an answer, or nothing that counts. */
export type Said = "answer" | "rest" | "nothing";

/**
 * Tells data on a raw connection from traffic that only keeps it open. All bytes are data; after the preface of HTTP/2, only
 * HEADERS and DATA are. Bytes that stop being HTTP/2 are all data again.
 *
 * unknown ──preface──▶ http2 ──nonsense──▶ bytes
 * └──anything else──────────────────────▲
 */
export class RawTraffic {
  /** Undefined for plain bytes. */
  #frames: { readonly up: Http2Frames; readonly down: Http2Frames } | undefined = {
    up: new Http2Frames(),
    down: new Http2Frames(),
  };
  #prefaceAt = 0;

  /** Whether these bytes of the client contain data. */
  clientSent(bytes: Buffer, length: number): boolean {
    const frames = this.#frames;
    if (!frames) return length > 0;
    let start = 0;
    for (; this.#prefaceAt < preface.length && start < length; start += 1, this.#prefaceAt += 1) {
      if (bytes[start] !== preface[this.#prefaceAt]) return this.#isBytes();
    }
    // A part of the preface may be a whole message of another protocol.
    if (this.#prefaceAt < preface.length) return length > 0;
    const seen = frames.up.see(bytes, start, length);
    return seen === "nonsense" ? this.#isBytes() : seen !== "control";
  }

  sandboxSent(bytes: Buffer, length: number): Said {
    const frames = this.#frames;
    if (frames) {
      // A server may send its SETTINGS before the client's preface.
      const seen = frames.down.see(bytes, 0, length);
      if (seen === "nonsense") this.#isBytes();
      else if (this.#prefaceAt === preface.length)
        return seen === "new" ? "answer" : seen === "rest" ? "rest" : "nothing";
    }
    return length > 0 ? "answer" : "nothing";
  }

  #isBytes(): true {
    this.#frames = undefined;
    return true;
  }
}
