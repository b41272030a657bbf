/** Opcodes from here on are control frames: close, ping, pong (RFC 6455, 5.2). */
const firstControlOpcode = 8;
const closeOpcode = 8;

/**
 * Follows the frames of one direction of a WebSocket (RFC 6455, 5.2) to distinguish data from pings. It validates nothing: other
 * protocols give wrong answers without harm.
 */
export class WebSocketFrames {
  /** Bytes of the payload still to come, with the mask before it. */
  #payloadLeft = 0;
  #isData = false;
  #isClosing = false;
  #dataFrames = 0;
  /** Bytes of the frame header read so far without the mask, the length of that header, and the payload length read so far. */
  #headerAt = 0;
  #headerBytes = 2;
  #length = 0;
  #maskBytes = 0;

  /** Whether a control frame may follow: the last byte ended a frame that was no close frame (RFC 6455, 5.4 and 5.5.1). */
  get mayInsert(): boolean {
    return !this.isInFrame && !this.#isClosing;
  }

  /** Whether the last byte left a frame unfinished. */
  get isInFrame(): boolean {
    return this.#payloadLeft > 0 || this.#headerAt > 0;
  }

  /** The number of data frames that have begun. */
  get dataFrames(): number {
    return this.#dataFrames;
  }

  /** Whether these bytes contain a byte of a data frame. */
  sawData(bytes: Buffer, length: number): boolean {
    let found = false;
    for (let at = 0; at < length; ) {
      if (this.#payloadLeft > 0) {
        const part = Math.min(this.#payloadLeft, length - at);
        this.#payloadLeft -= part;
        at += part;
      } else {
        this.#readHeader(bytes[at] ?? 0);
        at += 1;
      }
      found ||= this.#isData;
    }
    return found;
  }

  #readHeader(byte: number): void {
    const at = this.#headerAt;
    this.#headerAt += 1;
    if (at === 0) {
      this.#isData = (byte & 0x0f) < firstControlOpcode;
      this.#isClosing ||= (byte & 0x0f) === closeOpcode;
      if (this.#isData) this.#dataFrames += 1;
      return;
    }
    if (at === 1) {
      const short = byte & 0x7f;
      this.#maskBytes = (byte & 0x80) === 0 ? 0 : 4;
      this.#headerBytes = short === 127 ? 10 : short === 126 ? 4 : 2;
      this.#length = this.#headerBytes === 2 ? short : 0;
    } else this.#length = this.#length * 256 + byte;
    if (this.#headerAt < this.#headerBytes) return;
    this.#payloadLeft = this.#length + this.#maskBytes;
    this.#headerAt = 0;
  }
}
