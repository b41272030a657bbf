/** The failures and the counts of a soak. */
export class Findings {
  readonly wrong: string[] = [];
  readonly counts = new Map<string, number>();
  readonly #say: (text: string) => void;

  constructor(say: (text: string) => void) {
    this.#say = say;
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  complain(what: string): void {
    this.wrong.push(what);
    this.#say(`WRONG: ${what}`);
  }

  summary(): string {
    return [...this.counts.entries()]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([what, count]) => `${what}: ${count}`)
      .join(", ");
  }
}
