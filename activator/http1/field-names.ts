import type { FieldSection } from "./field-section.ts";

/**
 * A few names, to be found among the fields of a section. Their lengths and first letters tell nearly all other fields
 * from them, so that no string is made of those.
 */
export class FieldNames {
  /** By length and first letter, see `slotOf`. */
  readonly #slots: (string[] | undefined)[] = [];

  /** In lower case. */
  constructor(names: Iterable<string>) {
    for (const name of names) {
      const slot = slotOf(name.length, name.charCodeAt(0));
      this.#slots[slot] = [...(this.#slots[slot] ?? []), name];
    }
  }

  /** The name of a field in lower case, if it is one of these. */
  find(section: FieldSection, index: number): string | undefined {
    const start = section.mark(index, 0);
    const candidates = this.#slots[slotOf(section.mark(index, 1) - start, section.code(start))];
    if (candidates === undefined) return undefined;
    const name = section.name(index).toLowerCase();
    return candidates.includes(name) ? name : undefined;
  }
}

/** The five low bits of a letter are the same in both cases. */
const slotOf = (length: number, initial: number) => (length << 5) | (initial & 31);
