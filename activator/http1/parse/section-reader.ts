import { byte, isBlank, textBytes, tokenBytes } from "./byte-classes.ts";
import { type FieldSection, marksPerField } from "./field-section.ts";
import type { Refusal } from "./refusals.ts";

/** The result of the bytes so far: more are needed, the part is complete, or it is refused. */
export type Step = "more" | "complete" | "refused";

export interface SectionLimits {
  /** Bytes of the whole section: start line, fields and the empty line. */
  readonly sectionBytesMax: number;
  readonly fieldsMax: number;
}

/** Counts the memory of a section that is not finished. */
export interface SectionKeeper {
  /** So many bytes are kept now. It may call `clear` of the reader. */
  keeps(bytes: number): void;
  keepsNone(): void;
}

/** For readers that keep nothing unfinished after the call. */
export const uncounted: SectionKeeper = { keeps() {}, keepsNone() {} };

const nobody: SectionKeeper = {
  keeps() {
    throw new Error("nobody counts the memory of an unfinished section");
  },
  keepsNone() {},
};

// The stages of a section, in order of their lines. Start lines have stages of their own below `fieldLine`.
export const firstStage = 0;
const fieldLine = 100;
const fieldName = 101;
const fieldBlank = 102;
const fieldValue = 103;
const fieldLf = 104;
const lastLf = 105;
const finished = 106;

const smallestPartial = 512;

/**
 * Reads a section byte by byte, with the same result for every split of the bytes: its state is a position and a stage. A
 * section in one piece is read in place; others are gathered in a buffer of at most `sectionBytesMax`.
 */
export abstract class SectionReader<S extends FieldSection> {
  readonly section: S;
  /** After "complete": the place in the bytes last pushed at which the section ended. */
  consumedTo = 0;
  refusal: Refusal | undefined;

  protected at = 0;
  protected stage = firstStage;
  readonly #limits: SectionLimits;
  #partial: Buffer | undefined;
  #partialLength = 0;
  /** Who counts `partial`. */
  #keeper: SectionKeeper | undefined;

  constructor(section: S, limits: SectionLimits) {
    this.section = section;
    this.#limits = limits;
  }

  /** Reads a start line from `this.at` on; false when it needs more bytes or has refused. */
  protected abstract readStartLine(bytes: Buffer, end: number): boolean;
  /** Checks a field once it is complete. */
  protected abstract judgeField(index: number): Refusal | undefined;
  /** Checks the complete section. */
  protected abstract judgeSection(): Refusal | undefined;
  protected abstract beginSection(): void;

  /** Whether the reader is between two messages: of the next, an empty line at most was read. */
  get isIdle(): boolean {
    return this.#partial === undefined || (this.#partialLength <= 2 && this.#partial[0] === byte.cr);
  }

  /**
   * Reads `bytes` from `start` to `end`. After "complete" the next call begins the next section. `keeper` counts what is kept of
   * an unfinished section.
   */
  push(bytes: Buffer, start: number, end: number, keeper: SectionKeeper = nobody): Step {
    if (this.refusal !== undefined) return "refused";
    if (start >= end) return "more";
    const before = this.#partial;
    const step = before ? this.#pushPartial(before, bytes, start, end) : this.#pushDirect(bytes, start, end);
    if (before || this.#partial) this.#count(keeper);
    return step;
  }

  /** Drops an unfinished section. */
  clear(): void {
    this.#partial = undefined;
    this.#count(nobody);
  }

  #count(keeper: SectionKeeper): void {
    if (this.#partial) {
      this.#keeper = keeper;
      keeper.keeps(this.#partial.length);
    } else {
      this.#keeper?.keepsNone();
      this.#keeper = undefined;
    }
  }

  protected refuse(refusal: Refusal): false {
    this.refusal = refusal;
    this.#partial = undefined;
    return false;
  }

  /** Remembers the position to resume at. */
  protected pause(at: number, stage: number): false {
    this.at = at;
    this.stage = stage;
    return false;
  }

  #pushDirect(bytes: Buffer, start: number, end: number): Step {
    const max = this.#limits.sectionBytesMax;
    this.#begin(bytes, start, false);
    const step = this.#read(bytes, Math.min(end, start + max));
    if (step !== "more") {
      this.consumedTo = this.at;
      return step;
    }
    const length = end - start;
    if (length >= max) return this.#refuseSize();
    // The bytes so far are parsed again from the start with the rest: simpler than moving every position.
    this.#partial = Buffer.allocUnsafeSlow(Math.min(Math.max(smallestPartial, length * 2), max));
    this.#partialLength = bytes.copy(this.#partial, 0, start, end);
    this.#begin(this.#partial, 0, true);
    return "more";
  }

  #pushPartial(partial: Buffer, bytes: Buffer, start: number, end: number): Step {
    const max = this.#limits.sectionBytesMax;
    const before = this.#partialLength;
    const length = before + Math.min(end - start, max - before);
    const room = length <= partial.length ? partial : this.#grow(partial, length);
    bytes.copy(room, before, start, start + length - before);
    this.#partialLength = length;
    const step = this.#read(room, length);
    if (step === "more") return length >= max ? this.#refuseSize() : step;
    this.consumedTo = start + this.at - before;
    this.#partial = undefined;
    return step;
  }

  #grow(partial: Buffer, length: number): Buffer {
    const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(partial.length * 2, length), this.#limits.sectionBytesMax));
    partial.copy(grown, 0, 0, this.#partialLength);
    this.#partial = grown;
    this.section.bytes = grown;
    return grown;
  }

  #begin(bytes: Buffer, start: number, ownsBytes: boolean): void {
    this.section.begin(bytes, start, ownsBytes);
    this.at = start;
    this.stage = firstStage;
    this.beginSection();
  }

  #refuseSize(): Step {
    this.refuse("SectionTooLarge");
    return "refused";
  }

  #read(bytes: Buffer, end: number): Step {
    const whole = (this.stage >= fieldLine || this.readStartLine(bytes, end)) && this.#readFields(bytes, end);
    if (this.refusal !== undefined) return "refused";
    if (!whole) return "more";
    const refusal = this.judgeSection();
    if (refusal === undefined) return "complete";
    this.refuse(refusal);
    return "refused";
  }

  /** The next stage after a start line. */
  protected startFields(at: number): true {
    this.at = at;
    this.stage = fieldLine;
    return true;
  }

  #readFields(bytes: Buffer, end: number): boolean {
    const { marks } = this.section;
    let { at, stage } = this;
    let mark = this.section.fieldCount * marksPerField;
    for (;;) {
      if (stage === fieldLine) {
        if (at >= end) return this.pause(at, stage);
        const code = bytes[at];
        if (code === byte.cr) stage = lastLf;
        else if (isBlank(code)) return this.refuse("LineFolded");
        else if (this.section.fieldCount >= this.#limits.fieldsMax) return this.refuse("TooManyFields");
        else stage = fieldName;
        if (stage === lastLf) at++;
        else marks[mark] = at;
      }
      if (stage === fieldName) {
        while (at < end && tokenBytes[bytes[at] as number] === 1) at++;
        if (at >= end) return this.pause(at, stage);
        if (bytes[at] !== byte.colon) return this.refuse(whyNotName(bytes[at]));
        if (at === marks[mark]) return this.refuse("FieldNameEmpty");
        marks[mark + 1] = at++;
        stage = fieldBlank;
      }
      if (stage === fieldBlank) {
        while (at < end && isBlank(bytes[at])) at++;
        if (at >= end) return this.pause(at, stage);
        marks[mark + 2] = at;
        stage = fieldValue;
      }
      if (stage === fieldValue) {
        while (at < end && textBytes[bytes[at] as number] === 1) at++;
        if (at >= end) return this.pause(at, stage);
        if (bytes[at] !== byte.cr) return this.refuse(bytes[at] === byte.lf ? "BareLf" : "FieldValueInvalid");
        at++;
        stage = fieldLf;
      }
      if (at >= end) return this.pause(at, stage);
      if (bytes[at] !== byte.lf) return this.refuse("BareCr");
      if (stage === lastLf) return this.#finish(at + 1);
      marks[mark + 3] = trimmedEnd(bytes, marks[mark + 2] as number, at - 1);
      const refusal = this.judgeField(this.section.fieldCount++);
      if (refusal !== undefined) return this.refuse(refusal);
      at++;
      mark += marksPerField;
      stage = fieldLine;
    }
  }

  #finish(at: number): true {
    this.pause(at, finished);
    this.section.end = at;
    return true;
  }
}

function trimmedEnd(bytes: Buffer, start: number, end: number): number {
  let trimmed = end;
  while (trimmed > start && isBlank(bytes[trimmed - 1])) trimmed--;
  return trimmed;
}

function whyNotName(code: number | undefined): Refusal {
  if (code === byte.lf) return "BareLf";
  if (isBlank(code)) return "SpaceBeforeColon";
  return "FieldNameInvalid";
}
