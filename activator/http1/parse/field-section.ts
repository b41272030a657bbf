/** How many numbers describe one field: where its name and its trimmed value start and end. */
export const marksPerField = 4;

/**
 * The fields of a head or of trailers, in order, as places in the bytes they were read from. All strings are cut from
 * one that is made when the first is asked for: each way from bytes to a string costs as much as reading a short head.
 * It is valid until its reader is pushed again or the bytes are written over; `keep` makes one that stays.
 */
export class FieldSection {
  bytes: Buffer = noBytes;
  /** Where the section, with its start line, begins and ends in `bytes`. */
  start = 0;
  end = 0;
  fieldCount = 0;
  /** Four places for each field; only the first `fieldCount * 4` mean anything. */
  marks: number[] = [];
  /** Whether this section owns `bytes`. */
  ownsBytes = false;
  /** The whole section, one character per byte; undefined until it is asked for. */
  #whole: string | undefined;

  /** The name as it was written, `index` from 0 to `fieldCount - 1`. */
  name(index: number): string {
    return this.text(this.mark(index, 0), this.mark(index, 1));
  }

  /** The value as it was written, one character per byte, without the blanks around it. */
  value(index: number): string {
    return this.text(this.mark(index, 2), this.mark(index, 3));
  }

  /** Where the line of a field begins and ends, its CRLF included: for passing the line on as it is. */
  lineStart(index: number): number {
    return this.mark(index, 0);
  }

  lineEnd(index: number): number {
    return index + 1 < this.fieldCount ? this.mark(index + 1, 0) : this.end - 2;
  }

  isNamed(index: number, lowerCaseName: string): boolean {
    if (this.mark(index, 1) - this.mark(index, 0) !== lowerCaseName.length) return false;
    return this.name(index).toLowerCase() === lowerCaseName;
  }

  /** Every value under the name, joined as RFC 9110 5.3 allows; undefined when there is none. */
  valueOf(lowerCaseName: string): string | undefined {
    let joined: string | undefined;
    for (let index = 0; index < this.fieldCount; index++) {
      if (!this.isNamed(index, lowerCaseName)) continue;
      joined = joined === undefined ? this.value(index) : `${joined}, ${this.value(index)}`;
    }
    return joined;
  }

  /** One of the numbers of a field, see `marksPerField`. */
  mark(index: number, which: number): number {
    return this.marks[index * marksPerField + which] as number;
  }

  text(start: number, end: number): string {
    if (this.end === this.start) return this.bytes.toString("latin1", start, end); // not at its end yet
    return this.#wholeText().slice(start - this.start, end - this.start);
  }

  /** One byte of a section that is whole. */
  code(at: number): number {
    return this.#wholeText().charCodeAt(at - this.start);
  }

  #wholeText(): string {
    this.#whole ??= this.bytes.toString("latin1", this.start, this.end);
    return this.#whole;
  }

  /** Forgets the last section and begins one at `start`. */
  begin(bytes: Buffer, start: number, ownsBytes: boolean): void {
    this.bytes = bytes;
    this.start = start;
    this.end = start;
    this.fieldCount = 0;
    this.ownsBytes = ownsBytes;
    this.#whole = undefined;
  }

  /** Drops the text, the bytes and all fields. */
  drop(): void {
    this.#whole = "";
    this.bytes = noBytes;
    this.fieldCount = 0;
    if (this.marks.length > keptMarksMax) this.marks = [];
  }

  /** Makes this a copy of another section that is whole, as text alone. */
  protected copyFrom(other: FieldSection): void {
    this.start = other.start;
    this.end = other.end;
    this.#whole = other.text(other.start, other.end);
    this.fieldCount = other.fieldCount;
    this.ownsBytes = true;
    // Of the very length: a list that grows by pushing keeps room for more, which a kept head never has.
    this.marks = other.marks.slice(0, other.fieldCount * marksPerField);
  }
}

const noBytes = Buffer.alloc(0);

/** A list of places up to this length is kept for the next section: nearly all have fewer fields. */
const keptMarksMax = 32 * marksPerField;
