import type { TestBed } from "../sleep/test-bed.ts";
import { type Count, countOf } from "./census.ts";
import type { Findings } from "./findings.ts";

/** What it says of an error that a guard, or the process itself, has caught, and when that ends it. */
const unexpected = '"msg":"unexpected error"';
const ending = '"msg":"shutting down: uncaught error"';

/** The activator under torture. When its process ends it is told, and started again. */
export class Subject {
  readonly host: string;
  before: Count | undefined;
  readonly #bed: TestBed;
  readonly #findings: Findings;
  /** Resolves once the process has ended, and another serves. */
  #over: Promise<void> | undefined;
  #restarting: Promise<void> | undefined;
  #ending = false;

  constructor(bed: TestBed, findings: Findings) {
    this.#bed = bed;
    this.#findings = findings;
    this.host = this.#activator.host;
  }

  /** How often its process has ended, or has begun to because of an error. */
  get deaths(): number {
    return this.#activator.deaths;
  }

  /** A line of its log. Errors that it did not expect are faults, though all but the connection may outlive them. */
  hear(line: string): void {
    if (line.includes(unexpected)) {
      const { where, err } = JSON.parse(line);
      const what = `an unexpected error (${where})`;
      this.#complain(
        what,
        String(err?.stack ?? line)
          .split("\n")
          .slice(0, 2)
          .join(" "),
      );
    }
    if (!line.includes(ending)) return;
    // It takes no connections from here on, and goes on with those that it has.
    this.#activator.deaths += 1;
    this.#restarting = this.#over;
    void this.#activator.program.kill();
  }

  /** Remembers what it holds before there was any traffic. */
  async begin(): Promise<void> {
    const { program } = this.#activator;
    this.before = await countOf(this.#activator);
    this.#over = program.exited.then(async () => {
      if (this.#ending) return;
      const why = program.lines.findLast((line) => /^\w*Error\b/.test(line)) ?? program.lines.at(-1) ?? "";
      const at = program.lines.findLast((line) => /^\s+at .*\/activator\//.test(line)) ?? "";
      this.#complain("the process of the activator has ended", `${why.trim()} ${at.trim()}`);
      this.#restarting = this.#restart();
      await this.#restarting;
    });
  }

  /** Resolves once it serves. */
  async untilReady(): Promise<void> {
    await this.#restarting;
  }

  async end(): Promise<void> {
    await this.#restarting;
    this.#ending = true;
  }

  #complain(what: string, came: string): void {
    this.#findings.complain("any client", { what, sent: "traffic", expected: "a process that outlives it", came });
  }

  async #restart(): Promise<void> {
    await this.#activator.kill();
    await this.#activator.start();
    await this.begin();
  }

  get #activator() {
    const [activator] = this.#bed.activators;
    if (!activator) throw new Error("there is no activator");
    return activator;
  }
}
