import type { TestBed } from "../sleep/test-bed.ts";
import { type ResourceCounts, readCounts } from "./activator/resource-counts.ts";
import type { Findings } from "./findings.ts";

/** The log messages of an unexpected error, and of one that ends the process. */
const unexpected = '"msg":"unexpected error"';
const ending = '"msg":"shutting down: uncaught error"';

/** The activator under test. When its process ends, that is reported, and it is started again. */
export class Subject {
  readonly host: string;
  before: ResourceCounts | undefined;
  readonly #bed: TestBed;
  readonly #findings: Findings;
  /** Resolves once the process has exited and the next one serves. */
  #over: Promise<void> | undefined;
  #restarting: Promise<void> | undefined;
  #ending = false;

  constructor(bed: TestBed, findings: Findings) {
    this.#bed = bed;
    this.#findings = findings;
    this.host = this.#activator.host;
  }

  /** How often its process has exited, or has started to because of an error. */
  get deaths(): number {
    return this.#activator.deaths;
  }

  /** Reads a line of its log. Each unexpected error is a failure, although it ends only one connection. */
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
    // From here on it accepts no connections, and continues with open ones.
    this.#activator.deaths += 1;
    this.#restarting = this.#over;
    void this.#activator.program.kill();
  }

  /** Records what it holds before any traffic. */
  async begin(): Promise<void> {
    const { program } = this.#activator;
    this.before = await readCounts(this.#activator);
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
    this.#findings.complain("any client", { what, sent: "traffic", expected: "a process that keeps running", came });
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
