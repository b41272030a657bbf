// Codes of states and situations: sequences of small numbers. Equal codes get the same number, the others count on. A large
// exploration asks for millions of codes, most of them known. So they are compared in one piece of memory, without an object for each.

const largestUnit = 0xffff;

export class Codes {
  #units = new Uint16Array(1 << 12);
  /** Where the code that is being written begins, and the next unit of it. */
  #begin = 0;
  #next = 0;
  /** Where each code begins; one more, where the last one ends. */
  readonly #begins: number[] = [0];
  /** By hash: the number of a code plus one, or 0; and its whole hash. At least half of the slots are free. */
  #slots = new Int32Array(1 << 10);
  #hashes = new Int32Array(1 << 10);

  /** The number of different codes. */
  get size(): number {
    return this.#begins.length - 1;
  }

  /** Adds a number to the code that is being written. */
  put(unit: number): void {
    if (unit !== (unit & largestUnit)) throw new Error(`${unit} is no unit of a code`);
    if (this.#next === this.#units.length) this.#units = enlarged(this.#units);
    this.#units[this.#next] = unit;
    this.#next += 1;
  }

  /** Adds a part for each of these. Their order makes no difference. */
  putInAnyOrder<T>(these: readonly T[], putOne: (one: T) => void): void {
    const begins: number[] = [];
    for (const one of these) {
      begins.push(this.#next);
      putOne(one);
      for (let at = begins.length - 1; at > 0 && this.#exchange(begins, at); at -= 1);
    }
  }

  /** Ends the code that is being written. Returns its number: `size` as it was before, if the code is new. */
  end(): number {
    const hash = this.#hash();
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (let known = this.#slots[slot] ?? 0; known > 0; known = this.#slots[slot] ?? 0) {
      if (this.#hashes[slot] === hash && this.#is(known - 1)) {
        this.#next = this.#begin;
        return known - 1;
      }
      slot = (slot + 1) & mask;
    }
    this.#slots[slot] = this.#begins.push(this.#next) - 1;
    this.#hashes[slot] = hash;
    this.#begin = this.#next;
    if (this.size * 2 > this.#slots.length) this.#enlarge();
    return this.size - 1;
  }

  #hash(): number {
    let hash = 0;
    for (let at = this.#begin; at < this.#next; at += 1) {
      hash = Math.imul(hash ^ (this.#units[at] ?? 0), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash;
  }

  /** Whether the code that is being written is this one. */
  #is(number: number): boolean {
    const from = this.#begins[number] ?? 0;
    const length = this.#next - this.#begin;
    if ((this.#begins[number + 1] ?? 0) - from !== length) return false;
    for (let at = 0; at < length; at += 1) {
      if (this.#units[from + at] !== this.#units[this.#begin + at]) return false;
    }
    return true;
  }

  /** Exchanges the last but one part with the last one, which begins at `begins[last]`, if the last one is the smaller. */
  #exchange(begins: number[], at: number): boolean {
    const [one = 0, other = 0] = [begins[at - 1], begins[at]];
    const end = begins[at + 1] ?? this.#next;
    if (!this.#isLess(other, end, one, other)) return false;
    const moved = this.#units.slice(one, other);
    this.#units.copyWithin(one, other, end);
    begins[at] = one + end - other;
    this.#units.set(moved, begins[at]);
    return true;
  }

  #isLess(from: number, to: number, otherFrom: number, otherTo: number): boolean {
    for (let at = 0; from + at < to && otherFrom + at < otherTo; at += 1) {
      const difference = (this.#units[from + at] ?? 0) - (this.#units[otherFrom + at] ?? 0);
      if (difference !== 0) return difference < 0;
    }
    return to - from < otherTo - otherFrom;
  }

  #enlarge(): void {
    const [slots, hashes] = [this.#slots, this.#hashes];
    this.#slots = new Int32Array(slots.length * 2);
    this.#hashes = new Int32Array(slots.length * 2);
    const mask = this.#slots.length - 1;
    for (let old = 0; old < slots.length; old += 1) {
      if (slots[old] === 0) continue;
      const hash = hashes[old] ?? 0;
      let slot = hash & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = slots[old] ?? 0;
      this.#hashes[slot] = hash;
    }
  }
}

function enlarged(units: Uint16Array<ArrayBuffer>): Uint16Array<ArrayBuffer> {
  const larger = new Uint16Array(units.length * 2);
  larger.set(units);
  return larger;
}
