import { byte, isDigit } from "./byte-classes.ts";
import type { FieldSection } from "./field-section.ts";

/**
 * A set of names to find among the fields of a section, in every spelling that programs read as the same name: any character
 * but letters and digits may stand for `-`. Length and first letter rule out nearly all other fields, and only names in another
 * spelling are made into strings.
 */
export class FieldNames {
  /** By length and first letter, see `slotOf`. */
  readonly #slots: (string[] | undefined)[] = [];
  readonly #beginnings: readonly string[];

  /** Both in lower case, beginning with a letter. A prefix matches fields that continue with `-`. */
  constructor(names: Iterable<string>, beginnings: readonly string[] = []) {
    for (const name of names) {
      const slot = slotOf(name.length, name.charCodeAt(0));
      this.#slots[slot] = [...(this.#slots[slot] ?? []), name];
    }
    this.#beginnings = beginnings;
  }

  /** The name of a field in lower case and in its spelling, if it is in the set. */
  find(section: FieldSection, index: number): string | undefined {
    const start = section.mark(index, 0);
    const length = section.mark(index, 1) - start;
    const candidates = this.#slots[slotOf(length, section.code(start))];
    if (candidates !== undefined) {
      for (const candidate of candidates) {
        const spelling = spellingAt(section, start, candidate);
        if (spelling === "same") return candidate;
        if (spelling === "other") return section.name(index).toLowerCase();
      }
    }
    for (const beginning of this.#beginnings) {
      if (length < beginning.length || spellingAt(section, start, beginning) === "none") continue;
      const goesOn = length > beginning.length && isLetterOrDigit(section.code(start + beginning.length));
      if (!goesOn) return section.name(index).toLowerCase();
    }
    return undefined;
  }
}

/** The five low bits of a letter are the same in both cases. */
const slotOf = (length: number, initial: number) => (length << 5) | (initial & 31);

const caseBit = 0x20;

/** Whether the bytes at `start` are a name in lower case: in the same letters and marks, with other marks, or not. */
function spellingAt(section: FieldSection, start: number, name: string): "same" | "other" | "none" {
  let spelling: "same" | "other" = "same";
  for (let at = 0; at < name.length; at += 1) {
    const code = section.code(start + at);
    const expected = name.charCodeAt(at);
    if (expected === code || (expected !== byte.dash && expected === (code | caseBit))) continue;
    if (expected !== byte.dash || isLetterOrDigit(code)) return "none";
    spelling = "other";
  }
  return spelling;
}

const isLetterOrDigit = (code: number) => isDigit(code) || ((code | caseBit) >= 0x61 && (code | caseBit) <= 0x7a);
