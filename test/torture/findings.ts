/** One thing that was wrong. */
export interface Complaint {
  /** The same words for the same sort of fault. */
  readonly what: string;
  readonly sent: string;
  readonly expected: string;
  readonly came: string;
}

/** So many of a sort are told in full; the others are counted. */
const toldInFull = 3;

/** What a run has found wrong, by sort, and what it has counted. */
export class Findings {
  readonly #seed: number;
  readonly #say: (text: string) => void;
  #beginMs = performance.now();
  readonly #wrong = new Map<string, { count: number; firstSeconds: string }>();
  readonly #counts = new Map<string, number>();

  constructor(seed: number, say: (text: string) => void) {
    this.#seed = seed;
    this.#say = say;
  }

  get isClean(): boolean {
    return this.#wrong.size === 0;
  }

  /** Traffic begins. */
  begin(): void {
    this.#beginMs = performance.now();
  }

  count(what: string, times = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  /** `where` names the client and the session, which the seed gives again. */
  complain(where: string, { what, sent, expected, came }: Complaint): void {
    const known = this.#wrong.get(what) ?? { count: 0, firstSeconds: this.#seconds };
    known.count += 1;
    this.#wrong.set(what, known);
    if (known.count > toldInFull) return;
    const facts = `sent: ${sent}; expected: ${expected}; came: ${came}`;
    this.#say(`WRONG: ${what} (seed ${this.#seed}, ${where}, after ${this.#seconds} s); ${facts}`);
  }

  counts(): string {
    return [...this.#counts.entries()]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([what, count]) => `${what}: ${Math.round(count)}`)
      .join(", ");
  }

  get #seconds(): string {
    return ((performance.now() - this.#beginMs) / 1_000).toFixed(1);
  }

  /** One line for each sort. */
  summary(): readonly string[] {
    return [...this.#wrong.entries()].map(
      ([what, { count, firstSeconds }]) => `FOUND: ${what}: ${count} times, first after ${firstSeconds} s`,
    );
  }
}
