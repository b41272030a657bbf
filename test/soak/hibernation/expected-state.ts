import { createHash } from "node:crypto";
import { pageBytes, pageCount, recordBytes, recordCount } from "./remembering-program.ts";

/** What the program answers. */
export interface Answered {
  readonly life: string;
  readonly step: number;
  /** The timers that were due. */
  readonly fired: number;
  /** Grows while the program runs. */
  readonly ticks: number;
  readonly chain: string;
  readonly memory: string;
  /** The same file, opened by its name and before. */
  readonly log: string;
  readonly openLog: string;
  readonly nameless: string;
  readonly replaced: string;
  readonly thread: string;
  readonly child: string;
}

const hash = (data: string | Buffer): string => createHash("sha256").update(data).digest("hex");

/** The state in which one life of the program must be, worked out apart from it. */
export class ExpectedState {
  readonly life: string;
  step = 0;
  readonly #pages: string[];
  readonly #nameless = Buffer.alloc(recordCount * recordBytes);
  #chain: string;
  #log = "";
  #writtenBytes = 0;

  constructor(life: string) {
    this.life = life;
    this.#chain = hash(life);
    this.#pages = Array.from({ length: pageCount }, (_, page) => hash(`${life} ${page}`));
  }

  advance(): void {
    this.step += 1;
    this.#chain = hash(`${this.#chain} ${this.step}`);
    this.#pages[this.step % pageCount] = this.#chain;
    this.#log += `${this.step} ${this.#chain}\n`;
    const at = (this.step % recordCount) * recordBytes;
    this.#nameless.write(this.#chain, at);
    this.#writtenBytes = Math.max(this.#writtenBytes, at + recordBytes);
  }

  /** What of an answer is not as it must be. */
  differences(answered: Answered): readonly string[] {
    const log = hash(this.#log);
    const expected = {
      step: this.step,
      chain: this.#chain,
      memory: this.#memory(),
      ...{ log, openLog: log },
      nameless: hash(this.#nameless.subarray(0, this.#writtenBytes)),
      replaced: this.#chain,
      ...{ thread: this.#chain, child: this.#chain },
    };
    const wrong = Object.entries(expected).filter(([name, value]) => answered[name as keyof typeof expected] !== value);
    const all = wrong.map(([name, value]) => `${name} is ${answered[name as keyof typeof expected]}, not ${value}`);
    // The timer of the last step may be due by now.
    const isDue = answered.fired === this.step || answered.fired === Math.max(0, this.step - 1);
    return isDue ? all : [...all, `${answered.fired} timers were due, of ${this.step}`];
  }

  #memory(): string {
    const memory = Buffer.alloc(pageCount * pageBytes);
    for (const [page, text] of this.#pages.entries()) memory.fill(text, page * pageBytes, (page + 1) * pageBytes);
    return hash(memory);
  }
}
