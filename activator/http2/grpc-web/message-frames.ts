/** The flag of a message that is compressed. All other flags have no meaning in gRPC, and that of trailers has one in gRPC-Web. */
const compressed = 1;

/** The bytes before a message: a flag, and its length. */
const prefixBytes = 5;

/** Follows the messages of one direction of a call through bytes that are split anywhere. It keeps none of them. */
export class MessageFrames {
  /** How much of the current prefix has passed, in bytes. */
  #prefix = 0;
  /** The length of the current message as far as its prefix says, then what is left of the message. */
  #left = 0;

  /** Whether no message has begun and not ended. */
  get isBetween(): boolean {
    return this.#prefix === 0;
  }

  /** Returns whether the bytes can be messages, or parts of some. */
  pass(bytes: Buffer): boolean {
    for (let at = 0; at < bytes.length; ) {
      if (this.#prefix < prefixBytes) {
        const byte = bytes[at] ?? 0;
        if (this.#prefix === 0 && byte > compressed) return false;
        this.#left = this.#prefix === 0 ? 0 : this.#left * 256 + byte;
        this.#prefix += 1;
        at += 1;
      } else {
        const part = Math.min(this.#left, bytes.length - at);
        this.#left -= part;
        at += part;
      }
      if (this.#prefix === prefixBytes && this.#left === 0) this.#prefix = 0;
    }
    return true;
  }
}
