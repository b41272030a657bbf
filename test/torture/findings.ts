/** One failure. */
export interface Complaint {
  /** The kind of failure, in the same words each time. */
  readonly what: string;
  readonly sent: string;
  readonly expected: string;
  readonly came: string;
}

/** The number of failures of a kind that are printed in full. The others are counted. */
const printedInFull = 3;

/** The failures of a run by kind, and its counts. */
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

  /** Call it when the traffic starts. */
  begin(): void {
    this.#beginMs = performance.now();
  }

  count(what: string, times = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  /** Prints what may explain a failure. */
  note(text: string): void {
    this.#say(text);
  }

  /** `where` names the client and the session, which the same seed repeats. */
  complain(where: string, { what, sent, expected, came }: Complaint): void {
    const known = this.#wrong.get(what) ?? { count: 0, firstSeconds: this.#seconds };
    known.count += 1;
    this.#wrong.set(what, known);
    if (known.count > printedInFull) return;
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

  /** One line for each kind of failure. */
  summary(): readonly string[] {
    return [...this.#wrong.entries()].map(
      ([what, { count, firstSeconds }]) => `FOUND: ${what}: ${count} times, first after ${firstSeconds} s`,
    );
  }
}
