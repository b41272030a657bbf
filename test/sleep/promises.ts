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

/** The outcome of a request, in a form that explains a failed test. */
export interface Account {
  readonly outcome: Outcome;
  readonly executions: readonly string[];
}

/** Sends a request, and returns its response and its executions. */
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

/** Sends a request, and expects a response and exactly one execution. */
export async function answeredOnce(by: ActivatorReplica, ledger: Ledger, asked: Omit<Visit, "id">): Promise<Answered> {
  const { outcome, executions, podUid = "" } = await account(by, ledger, asked);
  expect({ outcome, executions }).toMatchObject({ outcome: { status: 200 }, executions: ["answered"] });
  return { podUid };
}
