import { expect } from "vitest";
import type { ActivatorReplica } from "./activator-replica.ts";
import type { Ledger } from "./ledger.ts";
import { type Outcome, type Visit, visit } from "./visitor.ts";

let last = 0;
export function nextId(): string {
  last += 1;
  return `r${last}`;
}

export interface Answered {
  readonly podUid: string;
}

/** What a request got, in a form that a failed test explains. */
export interface Account {
  readonly outcome: Outcome;
  readonly executions: readonly string[];
}

/** Sends a request, and gives an account of what became of it. */
export async function account(
  by: ActivatorReplica,
  ledger: Ledger,
  asked: Omit<Visit, "id">,
): Promise<Account & Partial<Answered>> {
  const id = nextId();
  const outcome = await visit(by, { id, ...asked });
  const executions = ledger.of(id);
  const podUid = executions[0]?.podUid;
  return { outcome, executions: executions.map(({ end }) => end), ...(podUid !== undefined && { podUid }) };
}

/** Every request that an activator has taken, and that outlives it, is answered, and by one execution. */
export async function answeredOnce(by: ActivatorReplica, ledger: Ledger, asked: Omit<Visit, "id">): Promise<Answered> {
  const { outcome, executions, podUid = "" } = await account(by, ledger, asked);
  expect({ outcome, executions }).toMatchObject({ outcome: { status: 200 }, executions: ["answered"] });
  return { podUid };
}
