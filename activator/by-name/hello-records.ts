/** The maximum bytes from the beginning of a connection to the end of its ClientHello, with the headers of its records. */
export const helloBytesMax = 16_384;

const recordHeaderBytes = 5;
const messageHeaderBytes = 4;
const handshakeRecord = 22;
const clientHello = 1;

export type HelloProgress = "incomplete" | "complete" | "tooLong" | "malformed";

/**
 * Finds the end of a ClientHello in what a client has sent (RFC 8446, 4 and 5.1). The message may be spread over any number of
 * records, so each record is looked at once: a client that sends byte by byte must not cost more.
 */
export class HelloRecords {
  /** Where the first record begins that is not complete. */
  #at = 0;
  /** The bytes of the message in the records before. */
  #message = 0;
  #header = 0;

  /** The number of bytes up to the end of the last complete record. */
  get end(): number {
    return this.#at;
  }

  /** `bytes`: everything since the beginning of the first record. */
  read(bytes: Buffer): HelloProgress {
    for (;;) {
      const [at, left] = [this.#at, bytes.length - this.#at];
      if (left > 0 && bytes[at] !== handshakeRecord) return "malformed";
      if (left > 1 && bytes[at + 1] !== 3) return "malformed";
      if (left < recordHeaderBytes) return at + recordHeaderBytes > helloBytesMax ? "tooLong" : "incomplete";
      const length = bytes.readUInt16BE(at + 3);
      if (length === 0) return "malformed";
      if (at + recordHeaderBytes + length > helloBytesMax) return "tooLong";
      if (left < recordHeaderBytes + length) return "incomplete";
      const progress = this.#readRecord(bytes.subarray(at + recordHeaderBytes, at + recordHeaderBytes + length));
      this.#at = at + recordHeaderBytes + length;
      if (progress !== "incomplete") return progress;
    }
  }

  #readRecord(content: Buffer): HelloProgress {
    const missing = Math.max(0, messageHeaderBytes - this.#message);
    for (const byte of content.subarray(0, missing)) this.#header = this.#header * 256 + byte;
    if (this.#message === 0 && content[0] !== clientHello) return "malformed";
    this.#message += content.length;
    if (this.#message < messageHeaderBytes) return "incomplete";
    const length = messageHeaderBytes + (this.#header % 2 ** 24);
    if (length > helloBytesMax) return "tooLong";
    if (this.#message < length) return "incomplete";
    return this.#message === length ? "complete" : "malformed"; // nothing may follow it in a record (RFC 8446, 5.1)
  }
}

/** The message in complete records. */
export function messageOf(records: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < records.length; ) {
    const from = at + recordHeaderBytes;
    at = from + records.readUInt16BE(at + 3);
    parts.push(records.subarray(from, at));
  }
  return Buffer.concat(parts);
}
