import { equalsIgnoringCase } from "./byte-classes.ts";

/** How many numbers describe one field: where its name and its trimmed value start and end. */
export const marksPerField = 4;

/**
 * The fields of a head or of trailers, in order, as places in the bytes they were read from: strings are made when they
 * are asked for. It is valid until its reader is pushed again or the bytes are written over; `keep` makes one that stays.
 */
export class FieldSection {
  bytes: Buffer = noBytes;
  /** Where the section, with its start line, begins and ends in `bytes`. */
  start = 0;
  end = 0;
  fieldCount = 0;
  /** Four places for each field; only the first `fieldCount * 4` mean anything. */
  marks: number[] = [];
  /** True when nobody else writes to `bytes`. */
  ownsBytes = false;

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
    return equalsIgnoringCase(this.bytes, this.mark(index, 0), this.mark(index, 1), lowerCaseName);
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
    return this.bytes.toString("latin1", start, end);
  }

  /** Forgets the last section and begins one at `start`. */
  begin(bytes: Buffer, start: number, ownsBytes: boolean): void {
    this.bytes = bytes;
    this.start = start;
    this.end = start;
    this.fieldCount = 0;
    this.ownsBytes = ownsBytes;
  }

  /** Makes this a copy of another section, with bytes of its own that start at 0. Returns how far every place moved. */
  protected copyFrom(other: FieldSection): number {
    const moved = other.start;
    this.bytes = Buffer.allocUnsafe(other.end - other.start);
    other.bytes.copy(this.bytes, 0, other.start, other.end);
    this.start = 0;
    this.end = other.end - moved;
    this.fieldCount = other.fieldCount;
    this.ownsBytes = true;
    // Of the very length: a list that grows by pushing keeps room for more, which a kept head never has.
    this.marks = other.marks.slice(0, other.fieldCount * marksPerField);
    for (let i = 0; i < this.marks.length; i++) this.marks[i] = (this.marks[i] as number) - moved;
    return moved;
  }
}

const noBytes = Buffer.alloc(0);
