import type { RequestHeadParser } from "../parse/request-head-parser.ts";
import type { ConnectionHost } from "./connection-host.ts";
import type { UnfinishedHead } from "./head-budget.ts";

/** Reads the heads of one connection. It has a parser of its own only while a head is unfinished. */
export class HeadReader {
  readonly #host: ConnectionHost;
  readonly #connection: UnfinishedHead;
  #own: RequestHeadParser | undefined;
  /** When the awaited head must be complete: the first of a connection, or one that has begun. Else undefined. */
  dueMs: number | undefined;

  constructor(host: ConnectionHost, connection: UnfinishedHead) {
    this.#host = host;
    this.#connection = connection;
    this.dueMs = this.#limitMs();
  }

  get isBetweenHeads(): boolean {
    return this.#own?.isIdle ?? true;
  }

  /**
   * Reads on. Returns the parser once a head is finished or refused; undefined if more bytes are needed. Read the parser at
   * once: it is reused.
   */
  push(bytes: Buffer, start: number, end: number): RequestHeadParser | undefined {
    const parser = this.#own ?? this.#host.parser;
    const step = parser.push(bytes, start, end);
    if (step === "more") {
      this.dueMs ??= this.#limitMs(); // once: bytes that arrive one by one must not move it
      this.#own ??= this.#host.giveParser();
      this.#host.heads.keep(this.#connection, parser.keptBytes);
      return undefined;
    }
    this.dueMs = undefined;
    if (this.#own) this.clear();
    else if (step === "refused") this.#host.giveParser(); // a parser that has refused reads no more
    return parser;
  }

  /** Drops an unfinished head. */
  clear(): void {
    this.dueMs = undefined;
    if (this.#own) this.#host.heads.release(this.#connection);
    this.#own = undefined;
  }

  #limitMs(): number {
    return this.#host.nowMs() + this.#host.headersTimeoutMs;
  }
}
