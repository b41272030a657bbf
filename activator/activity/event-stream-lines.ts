const newline = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;

/**
 * Tells events of an event stream from the comments that only keep it open (HTML, 9.2.6: a line that begins with a colon).
 * It reads a body as it is on the wire, so lines that may be sizes of chunks say nothing either; no field of an event is
 * written in hexadecimal digits alone. What is cut in the middle of a line may count as an event: that errs towards awake.
 */
export class EventStreamLines {
  #line: "empty" | "maybeSize" | "comment" | "field" = "empty";

  /** Whether there is a byte of an event among these. */
  sawEvent(bytes: Buffer, start: number, end: number): boolean {
    let found = false;
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at] ?? newline;
      if (byte === newline) this.#line = "empty";
      else if (byte !== carriageReturn && (this.#line === "empty" || this.#line === "maybeSize")) {
        this.#line = this.#kindWith(byte);
      }
      found ||= this.#line === "field";
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
