import type { Answered, ExpectedState } from "./expected-state.ts";

/** What is known before a sandbox is woken. */
export interface Known {
  /** The state before the sleep. */
  readonly before: ExpectedState;
  readonly ticks: number;
  /** Lives that were lost, which must never come back. */
  readonly lost: ReadonlySet<string>;
}

export interface Woken {
  readonly answered: Answered;
  /** `X-Rouse-Started`. */
  readonly started: string | undefined;
  /** Whether it came to the request that woke the sandbox; the next ones did not wait for the new Pod. */
  readonly hasWaited: boolean;
}

export interface Verdict {
  readonly is: "restored" | "anew";
  readonly faults: readonly string[];
}

/** Compares an answer with the state of before. A restored program has taken one step by then; a new one none. */
export function judge({ before, ticks, lost }: Known, { answered, started, hasWaited }: Woken): Verdict {
  if (answered.life === before.life) {
    const faults = before.differences(answered).map((fault) => `after step ${before.step}: ${fault}`);
    if (answered.ticks <= ticks) faults.push(`the ticks went from ${ticks} to ${answered.ticks}`);
    if (started === "anew") faults.push("it goes on, and the response says that it was started anew");
    return { is: "restored", faults };
  }
  const faults: string[] = [];
  if (lost.has(answered.life)) faults.push(`the life ${answered.life} was lost, and is back`);
  if (answered.step > 0) faults.push(`a new life has taken ${answered.step} steps`);
  if (hasWaited && started !== "anew") faults.push(`its memory is lost, and the response says ${started ?? "nothing"}`);
  return { is: "anew", faults };
}
