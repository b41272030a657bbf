/** The opcodes from here on are of control frames: close, ping, pong (RFC 6455, 5.2). */
const firstControlOpcode = 8;

/**
 * Follows the frames of one direction of a WebSocket (RFC 6455, 5.2), to tell data from pings. It checks nothing: what is no
 * WebSocket gives wrong answers, and harms nothing.
 */
export class WebSocketFrames {
  /** Bytes of the payload that are still to come, the mask before it included. */
  #payloadLeft = 0;
  #isData = false;
  /** The header's first two bytes and its length, as far as they have come. */
  readonly #header: number[] = [];

  /** Whether the last byte that was seen ended a frame, so that another may begin. */
  get atBoundary(): boolean {
    return this.#payloadLeft === 0 && this.#header.length === 0;
  }

  /** Whether there is a byte of a data frame among these. */
  sawData(bytes: Buffer, length: number): boolean {
    let found = false;
    for (let at = 0; at < length; ) {
      if (this.#payloadLeft > 0) {
        const part = Math.min(this.#payloadLeft, length - at);
        this.#payloadLeft -= part;
        at += part;
      } else {
        this.#header.push(bytes[at] ?? 0);
        at += 1;
        this.#readHeader();
      }
      found ||= this.#isData;
    }
    return found;
  }

  #readHeader(): void {
    const [first = 0, second = 0, ...extended] = this.#header;
    this.#isData = (first & 0x0f) < firstControlOpcode;
    if (this.#header.length < 2) return;
    const short = second & 0x7f;
    const extendedBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    if (extended.length < extendedBytes) return;
    const length = extendedBytes === 0 ? short : extended.reduce((sum, each) => sum * 256 + each, 0);
    this.#payloadLeft = length + ((second & 0x80) === 0 ? 0 : 4);
    this.#header.length = 0;
  }
}
