import { ByteCheck, upStream } from "./bytes.ts";
import type { ExchangePlan, TalkPlan } from "./plan.ts";
import type { Speech } from "./talk/speech.ts";

/** What a sandbox received and sent in one exchange or conversation. */
export class Account {
  /** How often it arrived. Nothing may be sent twice. */
  times = 0;
  readonly up: ByteCheck;
  /** The request was read completely; in a conversation, the client's FIN has arrived. */
  upEnded = false;
  /** All planned bytes were written to the kernel. */
  downWritten = false;
  /** The sandbox reset the connection, in the middle of its answer or after it. */
  reset = false;
  /** The program has closed the connection after an earlier answer. Without a length, this cannot be distinguished from its own end. */
  endedByAnother = false;
  /** How its connection broke, if it did. */
  lost: string | undefined;
  /** How it reads the conversation. */
  heard: Speech | undefined;
  /** Received data that is not HTTP. */
  broken: string | undefined;

  constructor(id: number) {
    this.up = new ByteCheck(upStream(id));
  }
}

/** The plans of the clients, and the accounts of the sandboxes. */
export class Ledger {
  readonly #plans = new Map<number, ExchangePlan | TalkPlan>();
  readonly #accounts = new Map<number, Account>();
  /** Data that reached a sandbox although no client had sent it. */
  readonly unexpected: string[] = [];

  open(plan: ExchangePlan | TalkPlan): void {
    this.#plans.set(plan.id, plan);
    this.#accounts.set(plan.id, new Account(plan.id));
  }

  planOf(id: number): ExchangePlan | TalkPlan | undefined {
    return this.#plans.get(id);
  }

  accountOf(id: number): Account {
    const account = this.#accounts.get(id);
    if (!account) throw new Error(`there is no plan ${id}`);
    return account;
  }

  close(id: number): void {
    this.#plans.delete(id);
    this.#accounts.delete(id);
  }
}
