import { byte, equalsIgnoringCase, isBlank, isDigit, tokenBytes } from "./byte-classes.ts";
import type { FieldSection } from "./field-section.ts";
import type { Refusal } from "./refusals.ts";

/** How the end of a body is found (RFC 9112 6.3); `tunnel` is whatever follows a 101 or a CONNECT. */
export type Framing = "none" | "length" | "chunked" | "close" | "tunnel";

/** What Connection lists (RFC 9110 7.6.1), as bits; `other` stands for every name of a field that ends here. */
export const connectionOption = { close: 1, keepAlive: 2, upgrade: 4, other: 8 } as const;

/**
 * The maximum length of a Connection value, over all its fields. Each of its names is searched among the fields; clients and
 * servers name three or four.
 */
const connectionBytesMax = 1_024;

/** NTLM, and Negotiate, which may be NTLM inside (RFC 4559, 6), at the beginning of credentials or of a challenge. */
const connectionScheme = /(?:^|,)[ \t]*(?:ntlm|negotiate)(?![^ \t,])/i;

/** Credentials begin with their scheme. Tokens are long, and each request may have one. */
const schemeBytesMax = 16;

/**
 * Reads the fields that decide about framing and the connection, as they are parsed. Names are compared by length first, so
 * that other fields cost one switch.
 */
export class MessageFacts {
  /** Index of the Host field, -1 without one. */
  host = -1;
  /** The value of Content-Length, -1 without one. */
  contentLength = -1;
  /** Whether `Transfer-Encoding` is `chunked`, the only coding supported. */
  isChunked = false;
  /** A union of `connectionOption`. */
  connectionOptions = 0;
  hasUpgrade = false;
  hasExpect = false;
  hasTe = false;
  hasTrailer = false;
  hasKeepAlive = false;
  /** A scheme that authenticates a connection, and with it whatever follows there, is asked for or used. */
  authenticatesConnection = false;
  /** The length of all Connection values so far. */
  #connectionBytes = 0;

  clear(): void {
    this.host = -1;
    this.contentLength = -1;
    this.isChunked = false;
    this.connectionOptions = 0;
    this.hasUpgrade = false;
    this.hasExpect = false;
    this.hasTe = false;
    this.hasTrailer = false;
    this.hasKeepAlive = false;
    this.authenticatesConnection = false;
    this.#connectionBytes = 0;
  }

  copyFrom(other: MessageFacts): void {
    this.host = other.host;
    this.contentLength = other.contentLength;
    this.isChunked = other.isChunked;
    this.connectionOptions = other.connectionOptions;
    this.hasUpgrade = other.hasUpgrade;
    this.hasExpect = other.hasExpect;
    this.hasTe = other.hasTe;
    this.hasTrailer = other.hasTrailer;
    this.hasKeepAlive = other.hasKeepAlive;
    this.authenticatesConnection = other.authenticatesConnection;
  }

  /** Reads a field. Returns its error, if any. */
  note(section: FieldSection, index: number): Refusal | undefined {
    const { bytes } = section;
    const start = section.mark(index, 0);
    const end = section.mark(index, 1);
    switch (end - start) {
      case 2:
        if (equalsIgnoringCase(bytes, start, end, "te")) this.hasTe = true;
        return undefined;
      case 4:
        return equalsIgnoringCase(bytes, start, end, "host") ? this.#noteHost(index) : undefined;
      case 6:
        if (equalsIgnoringCase(bytes, start, end, "expect")) this.hasExpect = true;
        return undefined;
      case 7:
        if (equalsIgnoringCase(bytes, start, end, "upgrade")) this.hasUpgrade = true;
        else if (equalsIgnoringCase(bytes, start, end, "trailer")) this.hasTrailer = true;
        return undefined;
      case 10:
        if (equalsIgnoringCase(bytes, start, end, "connection")) return this.#noteConnection(section, index);
        if (equalsIgnoringCase(bytes, start, end, "keep-alive")) this.hasKeepAlive = true;
        return undefined;
      case 13:
        if (equalsIgnoringCase(bytes, start, end, "authorization")) this.#noteScheme(section, index, schemeBytesMax);
        return undefined;
      case 16:
        if (equalsIgnoringCase(bytes, start, end, "www-authenticate"))
          this.#noteScheme(section, index, Number.POSITIVE_INFINITY);
        return undefined;
      case 14:
        return equalsIgnoringCase(bytes, start, end, "content-length") ? this.#noteLength(section, index) : undefined;
      case 17:
        return equalsIgnoringCase(bytes, start, end, "transfer-encoding")
          ? this.#noteCoding(section, index)
          : undefined;
      default:
        return undefined;
    }
  }

  #noteScheme(section: FieldSection, index: number, bytesMax: number): void {
    const start = section.mark(index, 2);
    const value = section.bytes.toString("latin1", start, Math.min(section.mark(index, 3), start + bytesMax));
    if (connectionScheme.test(value)) this.authenticatesConnection = true;
  }

  #noteHost(index: number): Refusal | undefined {
    if (this.host >= 0) return "HostRepeated";
    this.host = index;
    return undefined;
  }

  #noteLength(section: FieldSection, index: number): Refusal | undefined {
    if (this.isChunked) return "LengthAndTransferEncoding";
    if (this.contentLength >= 0) return "ContentLengthRepeated";
    const length = readLength(section.bytes, section.mark(index, 2), section.mark(index, 3));
    if (typeof length === "string") return length;
    this.contentLength = length;
    return undefined;
  }

  #noteCoding(section: FieldSection, index: number): Refusal | undefined {
    if (this.isChunked) return "TransferEncodingRepeated";
    if (this.contentLength >= 0) return "LengthAndTransferEncoding";
    const start = section.mark(index, 2);
    const end = section.mark(index, 3);
    if (!equalsIgnoringCase(section.bytes, start, end, "chunked")) return whyNotChunked(section.bytes, start, end);
    // A tab is a blank (RFC 9110 5.6.3), but some readers take it for a part of another coding.
    if (section.bytes[start - 1] === byte.tab || section.bytes[end] === byte.tab) return "TransferEncodingInvalid";
    this.isChunked = true;
    return undefined;
  }

  #noteConnection(section: FieldSection, index: number): Refusal | undefined {
    const { bytes } = section;
    const end = section.mark(index, 3);
    this.#connectionBytes += end - section.mark(index, 2);
    if (this.#connectionBytes > connectionBytesMax) return "ConnectionTooLong";
    for (let at = section.mark(index, 2); at < end; at++) {
      while (at < end && (isBlank(bytes[at]) || bytes[at] === byte.comma)) at++;
      const start = at;
      while (at < end && tokenBytes[bytes[at] as number] === 1) at++;
      if (at > start) this.connectionOptions |= optionOf(bytes, start, at);
      while (at < end && isBlank(bytes[at])) at++;
      if (at < end && bytes[at] !== byte.comma) return "ConnectionInvalid";
    }
    return undefined;
  }

  has(option: number): boolean {
    return (this.connectionOptions & option) !== 0;
  }
}

function optionOf(bytes: Buffer, start: number, end: number): number {
  if (equalsIgnoringCase(bytes, start, end, "close")) return connectionOption.close;
  if (equalsIgnoringCase(bytes, start, end, "keep-alive")) return connectionOption.keepAlive;
  if (equalsIgnoringCase(bytes, start, end, "upgrade")) return connectionOption.upgrade;
  return connectionOption.other;
}

/**
 * `1*DIGIT` alone (RFC 9110 8.6): no sign, no blank, and no list, not even of equal values, which that section allows to merge.
 * A leading zero is refused, because a reader behind us may take it for octal.
 */
function readLength(bytes: Buffer, start: number, end: number): number | Refusal {
  let length = 0;
  for (let at = start; at < end; at++) {
    if (!isDigit(bytes[at])) return "ContentLengthInvalid";
    length = length * 10 + (bytes[at] as number) - byte.zero;
  }
  if (end === start || (bytes[start] === byte.zero && end - start > 1)) return "ContentLengthInvalid";
  return length > Number.MAX_SAFE_INTEGER ? "ContentLengthTooLarge" : length;
}

/** A list of codings that ends in one `chunked` is valid but unsupported; every other value is ambiguous. */
function whyNotChunked(bytes: Buffer, start: number, end: number): Refusal {
  for (let at = start; ; at++) {
    while (at < end && isBlank(bytes[at])) at++;
    const from = at;
    while (at < end && tokenBytes[bytes[at] as number] === 1) at++;
    if (at === from) return "TransferEncodingInvalid";
    const isLast = equalsIgnoringCase(bytes, from, at, "chunked");
    while (at < end && isBlank(bytes[at])) at++;
    if (at === end) return isLast ? "TransferEncodingUnsupported" : "TransferEncodingInvalid";
    if (isLast || bytes[at] !== byte.comma) return "TransferEncodingInvalid";
  }
}
