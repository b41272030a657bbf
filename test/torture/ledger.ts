import { ByteCheck, upStream } from "./bytes.ts";
import type { ExchangePlan, TalkPlan } from "./plan.ts";

/** What a sandbox saw and did of one exchange or conversation. */
export class Account {
  /** How often it came; nothing that was sent is ever sent again. */
  times = 0;
  readonly up: ByteCheck;
  /** The request was read to its end; or, of a conversation, the client's end came in good order. */
  upEnded = false;
  /** All that was planned was given to the kernel. */
  downWritten = false;
  /** It ended the connection in the middle, or behind its answer, by a reset. */
  reset = false;
  /** The program has ended the connection under it, behind an earlier answer: without a length, that looks like its own end. */
  endedByAnother = false;
  /** How its connection ended under it, if it did. */
  lost: string | undefined;
  /** What came that is no HTTP. */
  broken: string | undefined;

  constructor(id: number) {
    this.up = new ByteCheck(upStream(id));
  }
}

/** What clients have planned, and what became of it at the other end. */
export class Ledger {
  readonly #plans = new Map<number, ExchangePlan | TalkPlan>();
  readonly #accounts = new Map<number, Account>();
  /** What came to a sandbox that nobody had sent. */
  readonly strays: string[] = [];

  open(plan: ExchangePlan | TalkPlan): void {
    this.#plans.set(plan.id, plan);
    this.#accounts.set(plan.id, new Account(plan.id));
  }

  planOf(id: number): ExchangePlan | TalkPlan | undefined {
    return this.#plans.get(id);
  }

  accountOf(id: number): Account {
    const account = this.#accounts.get(id);
    if (!account) throw new Error(`nobody planned ${id}`);
    return account;
  }

  close(id: number): void {
    this.#plans.delete(id);
    this.#accounts.delete(id);
  }
}
