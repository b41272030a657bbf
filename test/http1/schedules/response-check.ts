import type { Script } from "./script.ts";

/** The result of a client's request. */
export type Outcome = "nothing" | "part" | "whole" | "refused";

type Stage = "head" | "length" | "chunkLine" | "chunk" | "untilEnd" | "after";

/** Reads the data of a client, compares each byte of each body, and counts complete responses. */
export class ResponseCheck {
  readonly outcomes: Outcome[];
  readonly faults: string[] = [];
  readonly #scripts: readonly Script[];
  #stage: Stage = "head";
  #text = "";
  #index = 0;
  #status = 0;
  #bodyAt = 0;
  #left = 0;

  constructor(scripts: readonly Script[]) {
    this.#scripts = scripts;
    this.outcomes = scripts.map(() => "nothing");
  }

  /** The number of complete responses. */
  get complete(): number {
    return this.#index;
  }

  feed(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && this.faults.length === 0; ) {
      if (this.#stage === "head" || this.#stage === "chunkLine") at = this.#line(bytes, at);
      else at = this.#body(bytes, at);
    }
  }

  /** The connection has ended; `inOrder`: without a reset. */
  ended(inOrder: boolean): void {
    if (this.#stage !== "untilEnd" || !inOrder) return;
    this.#left = 0;
    this.#finish();
  }

  #line(bytes: Buffer, at: number): number {
    const isHead = this.#stage === "head";
    const end = isHead ? "\r\n\r\n" : "\r\n";
    const before = this.#text.length;
    this.#text += bytes.toString("latin1", at, Math.min(bytes.length, at + 1_000));
    const found = this.#text.indexOf(end);
    if (found < 0) return Math.min(bytes.length, at + 1_000);
    const line = this.#text.slice(0, found);
    this.#text = "";
    if (isHead) this.#begin(line);
    else if (line !== "") this.#beginChunk(Number.parseInt(line, 16));
    return at + found + end.length - before;
  }

  #begin(head: string): void {
    if (!this.#scripts[this.#index]) return this.#fault(`a response without a request: ${head}`);
    this.#status = Number(head.slice(9, 12));
    this.#bodyAt = 0;
    this.#mark("part");
    const length = /^Content-Length: (\d+)$/im.exec(head)?.[1];
    if (this.#status === 101) this.#stage = "untilEnd";
    else if (length !== undefined) {
      this.#left = Number(length);
      this.#stage = "length";
      if (this.#left === 0) this.#finish();
    } else this.#stage = /^Transfer-Encoding: chunked$/im.test(head) ? "chunkLine" : "untilEnd";
  }

  #beginChunk(size: number): void {
    this.#left = size;
    if (size > 0) this.#stage = "chunk";
    else {
      this.#stage = "length";
      this.#left = 2; // the line that ends the trailers
      this.#bodyAt = -1;
    }
  }

  #body(bytes: Buffer, at: number): number {
    const length = this.#stage === "untilEnd" ? bytes.length - at : Math.min(this.#left, bytes.length - at);
    if (this.#bodyAt >= 0) this.#compare(bytes.subarray(at, at + length));
    this.#left -= length;
    if (this.#left > 0 || this.#stage === "untilEnd") return at + length;
    if (this.#stage === "chunk") this.#stage = "chunkLine";
    else this.#finish();
    return at + length;
  }

  #compare(got: Buffer): void {
    const script = this.#scripts[this.#index];
    if (!script || (this.#status !== 200 && this.#status !== 101)) return;
    const wanted = script.responseBody.subarray(this.#bodyAt, this.#bodyAt + got.length);
    if (!got.equals(wanted)) this.#fault(`wrong bytes for request ${script.id} from byte ${this.#bodyAt} on`);
    this.#bodyAt += got.length;
  }

  #finish(): void {
    const script = this.#scripts[this.#index];
    const isAnswer = this.#status === 200 || this.#status === 101;
    if (script && isAnswer && this.#bodyAt >= 0 && this.#bodyAt !== script.responseBody.length) {
      this.#fault(
        `${this.#bodyAt} of ${script.responseBody.length} bytes for request ${script.id} were taken as complete`,
      );
    }
    this.#mark(isAnswer ? "whole" : "refused");
    this.#index += 1;
    this.#stage = "head";
  }

  #mark(outcome: Outcome): void {
    this.outcomes[this.#index] = outcome;
  }

  #fault(what: string): void {
    this.faults.push(what);
  }
}
