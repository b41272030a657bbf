const newline = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
/** Pieces shorter than this, in bytes, are read byte by byte: a search for the last line end costs as much. */
const worthJumping = 64;

/**
 * Tells events of an event stream from comments that only keep it open (HTML, 9.2.6: a comment line begins with a colon, and a
 * line ends with CRLF, LF or CR). It reads the body as sent, so a line of hexadecimal digits alone may be a chunk size and is
 * ignored; no field of an event looks like that. A line that is cut in the middle may count as an event: the sandbox then stays
 * awake.
 */
export class EventStreamLines {
  #line: "empty" | "maybeSize" | "comment" | "field" = "empty";

  /** Whether these bytes contain a byte of an event. */
  sawEvent(bytes: Buffer, start: number, end: number): boolean {
    let found = false;
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at] ?? newline;
      if (byte === newline || byte === carriageReturn) this.#line = "empty";
      else if (this.#line === "empty" || this.#line === "maybeSize") this.#line = this.#kindWith(byte);
      if (this.#line !== "field") continue;
      found = true;
      if (end - at < worthJumping) continue;
      // The bytes behind the last line end decide how the next read begins, so the lines between are skipped.
      const last = Math.max(bytes.lastIndexOf(newline, end - 1), bytes.lastIndexOf(carriageReturn, end - 1));
      if (last <= at) return true;
      at = last;
      this.#line = "empty";
    }
    return found;
  }

  #kindWith(byte: number): "maybeSize" | "comment" | "field" {
    if (byte === colon && this.#line === "empty") return "comment";
    return isHexDigit(byte) ? "maybeSize" : "field";
  }
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}
