import type { RequestHeadParser } from "../parse/request-head-parser.ts";
import type { SectionKeeper } from "../parse/section-reader.ts";
import type { ConnectionHost } from "./connection-host.ts";
import type { UnfinishedHead } from "./head-budget.ts";

/** Reads the heads of one connection. It has a parser of its own only while a head is unfinished. */
export class HeadReader implements SectionKeeper {
  readonly #host: ConnectionHost;
  /** Counts what the connection keeps of an unfinished head, or of unfinished trailers. */
  readonly share: SectionKeeper;
  #own: RequestHeadParser | undefined;
  /** When the awaited head must be complete: the first of a connection, or one that has begun. Else undefined. */
  dueMs: number | undefined;

  constructor(host: ConnectionHost, connection: UnfinishedHead) {
    this.#host = host;
    this.share = host.heads.shareOf(connection);
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
    const step = parser.push(bytes, start, end, this);
    if (step === "more") {
      this.dueMs ??= this.#limitMs(); // once: bytes that arrive one by one must not move it
      return undefined;
    }
    this.dueMs = undefined;
    if (this.#own) this.clear();
    else if (step === "refused") this.#host.giveParser(); // a parser that has refused reads no more
    return parser;
  }

  /** The parser keeps an unfinished head: it serves this connection alone from now on. */
  keeps(bytes: number): void {
    this.#own ??= this.#host.giveParser();
    this.share.keeps(bytes);
  }

  keepsNone(): void {
    this.share.keepsNone();
  }

  /** Drops an unfinished head. */
  clear(): void {
    this.dueMs = undefined;
    this.#own?.clear();
    this.#own = undefined;
  }

  #limitMs(): number {
    return this.#host.nowMs() + this.#host.headersTimeoutMs;
  }
}
