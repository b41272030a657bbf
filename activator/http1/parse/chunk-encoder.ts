import type { FieldSection } from "./field-section.ts";

/** Writes the framing of a chunked body around data that is written by itself: two writes for each chunk. */
export class ChunkEncoder {
  #isFirst = true;

  begin(): void {
    this.#isFirst = true;
  }

  /** What goes out before `length` bytes of data, ASCII. Zero bytes are no chunk: that would be the last one. */
  before(length: number): string {
    if (!(Number.isSafeInteger(length) && length > 0)) throw new RangeError(`a chunk of ${length} bytes`);
    const line = `${length.toString(16)}\r\n`;
    if (!this.#isFirst) return `\r\n${line}`;
    this.#isFirst = false;
    return line;
  }

  /** What ends the body, one character per byte, with the trailers if there are any. */
  end(trailers?: FieldSection): string {
    const last = this.#isFirst ? "0\r\n" : "\r\n0\r\n";
    this.#isFirst = true;
    return `${last}${trailerSection(trailers)}`;
  }
}

/** Trailers as they came and the empty line that ends them, one character per byte: what follows the last chunk. */
export function trailerSection(trailers?: FieldSection): string {
  return trailers ? trailers.text(trailers.start, trailers.end) : "\r\n";
}
