import { byte, hexValues, textBytes, tokenBytes } from "./byte-classes.ts";
import type { Refusal } from "./refusals.ts";

/** 16 digits hold every 64-bit size; more digits are leading zeros or an overflow. */
const sizeDigitsMax = 16;
/** The maximum bytes of extensions of one chunk, and of all chunks of a body. Clients hardly send any. */
const lineExtensionBytesMax = 256;
const bodyExtensionBytesMax = 4_096;

const firstDigit = 0;
const digits = 1;
const extensionName = 2;
const extensionNameRest = 3;
const extensionValue = 4;
const extensionToken = 5;
const quoted = 6;
const quotedPair = 7;
const quotedEnd = 8;
const lineLf = 9;

/**
 * Reads the line before a chunk, byte by byte: `chunk-size [ chunk-ext ] CRLF` of RFC 9112 7.1. Extensions must follow
 * the grammar, without the blanks that it calls bad, and are bounded; what they say is ignored.
 */
export class ChunkLine {
  size = 0;
  refusal: Refusal | undefined;
  /** True from the first byte of an extension to the end of the line. */
  inExtension = false;
  #stage = firstDigit;
  #digits = 0;
  #lineExtensionBytes = 0;
  #bodyExtensionBytes = 0;

  beginBody(): void {
    this.#bodyExtensionBytes = 0;
    this.beginLine();
  }

  beginLine(): void {
    this.size = 0;
    this.refusal = undefined;
    this.inExtension = false;
    this.#stage = firstDigit;
    this.#digits = 0;
    this.#lineExtensionBytes = 0;
  }

  /** Takes the next byte. Returns true at the end of the line, or if `refusal` is set. */
  take(code: number): boolean {
    if (this.#stage <= digits) return this.#takeDigit(code);
    if (this.#stage === lineLf) return code === byte.lf || this.#refuse("BareCr");
    this.#bodyExtensionBytes++;
    if (++this.#lineExtensionBytes > lineExtensionBytesMax || this.#bodyExtensionBytes > bodyExtensionBytesMax) {
      return this.#refuse("ChunkExtensionsTooLong");
    }
    return this.#takeExtension(code);
  }

  #refuse(refusal: Refusal): true {
    this.refusal = refusal;
    return true;
  }

  #takeDigit(code: number): boolean {
    const value = hexValues[code] as number;
    if (value < 16) {
      if (++this.#digits > sizeDigitsMax) return this.#refuse("ChunkTooLarge");
      this.size = this.size * 16 + value;
      this.#stage = digits;
      return this.size > Number.MAX_SAFE_INTEGER && this.#refuse("ChunkTooLarge");
    }
    if (code === byte.lf) return this.#refuse("BareLf");
    if (this.#stage === firstDigit) return this.#refuse("ChunkSizeInvalid");
    return this.#endPart(code, "ChunkSizeInvalid");
  }

  /** After a size, a name or a value: the end of the line or one more extension. */
  #endPart(code: number, otherwise: Refusal): boolean {
    if (code === byte.cr) {
      this.#stage = lineLf;
      this.inExtension = false;
      return false;
    }
    if (code !== byte.semicolon) return this.#refuse(code === byte.lf ? "BareLf" : otherwise);
    this.#stage = extensionName;
    this.inExtension = true;
    return false;
  }

  #takeExtension(code: number): boolean {
    const invalid = "ChunkExtensionInvalid";
    const isToken = tokenBytes[code] === 1;
    switch (this.#stage) {
      case extensionName:
        this.#stage = extensionNameRest;
        return !isToken && this.#refuse(code === byte.lf ? "BareLf" : invalid);
      case extensionNameRest:
        if (code === byte.equals) this.#stage = extensionValue;
        return code !== byte.equals && !isToken && this.#endPart(code, invalid);
      case extensionValue:
        this.#stage = code === byte.quote ? quoted : extensionToken;
        return code !== byte.quote && !isToken && this.#refuse(code === byte.lf ? "BareLf" : invalid);
      case extensionToken:
        return !isToken && this.#endPart(code, invalid);
      case quoted:
        if (code === byte.quote) this.#stage = quotedEnd;
        else if (code === byte.backslash) this.#stage = quotedPair;
        return textBytes[code] !== 1 && this.#refuse(code === byte.lf ? "BareLf" : invalid);
      case quotedPair:
        this.#stage = quoted;
        return textBytes[code] !== 1 && this.#refuse(code === byte.lf ? "BareLf" : invalid);
      default:
        return this.#endPart(code, invalid);
    }
  }
}
