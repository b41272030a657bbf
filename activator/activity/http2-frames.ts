const headerBytes = 9;
/** The frame size in bytes that every endpoint accepts (4.2). A larger SETTINGS_MAX_FRAME_SIZE concerns DATA and HEADERS alone. */
const controlPayloadMax = 16_384;
/** Frame types of RFC 9113, 6. */
const type = {
  ...{ data: 0, headers: 1, priority: 2, reset: 3, settings: 4, pushPromise: 5, ping: 6, goAway: 7 },
  ...{ windowUpdate: 8, continuation: 9 },
} as const;

/** The kind of a read: HEADERS or DATA (`new`: such a frame began), other frames alone, or not HTTP/2. */
export type FramesSeen = "new" | "rest" | "control" | "nonsense";

/**
 * Follows the frames of one direction of an HTTP/2 connection (RFC 9113, 4.1) after the client's preface. It reads frame
 * headers alone, keeps no payload, and treats unknown frame types as control frames.
 */
export class Http2Frames {
  #payloadLeft = 0;
  #isData = false;
  #isFirst = true;
  /** Bytes of the frame header read so far, and its fields. */
  #headerAt = 0;
  #length = 0;
  #type = 0;
  #stream = 0;

  /** Reads the bytes from `start` to `end`. Do not call it again after `nonsense`. */
  see(bytes: Buffer, start: number, end: number): FramesSeen {
    let seen: FramesSeen = "control";
    for (let at = start; at < end; ) {
      if (this.#payloadLeft > 0) {
        const part = Math.min(this.#payloadLeft, end - at);
        this.#payloadLeft -= part;
        at += part;
        if (this.#isData && seen === "control") seen = "rest";
        continue;
      }
      this.#readHeader(bytes[at] ?? 0);
      at += 1;
      if (this.#headerAt < headerBytes) continue;
      if (!this.#isPlausible()) return "nonsense";
      this.#begin();
      if (this.#isData) seen = "new";
    }
    return seen;
  }

  #readHeader(byte: number): void {
    const at = this.#headerAt;
    if (at < 3) this.#length = this.#length * 256 + byte;
    else if (at === 3) this.#type = byte;
    else if (at === 5) this.#stream = byte & 0x7f;
    else if (at > 5) this.#stream = this.#stream * 256 + byte;
    this.#headerAt += 1;
  }

  #begin(): void {
    this.#isData = this.#type === type.data || this.#type === type.headers;
    this.#payloadLeft = this.#length;
    this.#isFirst = false;
    this.#headerAt = 0;
    this.#length = 0;
  }

  /** Both sides begin with SETTINGS (3.4). Checks the stream and the length of a frame as section 6 requires. */
  #isPlausible(): boolean {
    const length = this.#length;
    const ofConnection = this.#stream === 0;
    if (this.#isFirst && this.#type !== type.settings) return false;
    switch (this.#type) {
      case type.settings:
        return ofConnection && length % 6 === 0 && length <= controlPayloadMax;
      case type.ping:
        return ofConnection && length === 8;
      case type.goAway:
        return ofConnection && length >= 8 && length <= controlPayloadMax;
      case type.windowUpdate:
        return length === 4;
      case type.reset:
        return !ofConnection && length === 4;
      case type.priority:
        return !ofConnection && length === 5;
      case type.data:
      case type.headers:
      case type.pushPromise:
      case type.continuation:
        return !ofConnection;
      default:
        return length <= controlPayloadMax;
    }
  }
}
