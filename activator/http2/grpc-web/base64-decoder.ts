const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const padding = 0x3d;
const invalid = 64;

/** The six bits of each character. */
const bitsOf = new Uint8Array(256).fill(invalid);
for (let value = 0; value < alphabet.length; value += 1) bitsOf[alphabet.charCodeAt(value)] = value;

/**
 * Decodes base64 that is split anywhere. Padding may end any group of four characters: a client of gRPC-Web may encode its messages
 * piece by piece. Everything else that is not base64 is refused, line ends too.
 */
export class Base64Decoder {
  /** The bits of the current group, and how many of its characters have passed. */
  #bits = 0;
  #count = 0;
  /** How many of these are padding. */
  #padded = 0;

  /** Whether no group has begun and not ended. */
  get isBetween(): boolean {
    return this.#count === 0;
  }

  /** Returns undefined if the text is not base64. */
  decode(text: Buffer): Buffer | undefined {
    const decoded = Buffer.allocUnsafeSlow(Math.ceil(((this.#count + text.length) * 3) / 4));
    let length = 0;
    for (const character of text) {
      if (!this.#take(character)) return undefined;
      if (this.#count < 4) continue;
      const bytes = 3 - this.#padded;
      for (let at = 0; at < bytes; at += 1) decoded[length + at] = (this.#bits >> (16 - 8 * at)) & 0xff;
      length += bytes;
      this.#bits = 0;
      this.#count = 0;
      this.#padded = 0;
    }
    return decoded.subarray(0, length);
  }

  #take(character: number): boolean {
    const isPadding = character === padding;
    const value = isPadding ? 0 : (bitsOf[character] ?? invalid);
    if (value === invalid) return false;
    if (isPadding ? this.#count < 2 : this.#padded > 0) return false;
    this.#bits = (this.#bits << 6) | value;
    this.#count += 1;
    if (isPadding) this.#padded += 1;
    return true;
  }
}
