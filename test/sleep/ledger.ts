/** One request that a workload has begun to execute. */
export interface Execution {
  readonly podUid: string;
  /** `cut`: its Pod or its connection ended before the response. */
  end: "running" | "answered" | "cut";
}

/** The requests that the workloads of a test bed have executed, by request id. */
export class Ledger {
  readonly #executions = new Map<string, Execution[]>();

  begin(id: string, podUid: string): Execution {
    const execution: Execution = { podUid, end: "running" };
    const known = this.#executions.get(id);
    if (known) known.push(execution);
    else this.#executions.set(id, [execution]);
    return execution;
  }

  of(id: string): readonly Readonly<Execution>[] {
    return this.#executions.get(id) ?? [];
  }

  forget(id: string): void {
    this.#executions.delete(id);
  }

  get size(): number {
    return this.#executions.size;
  }
}

/** A message that names itself, so that the ledger has it. */
export const namedMessage = (id: string): string => `id:${id};`;

/** Records a message that is answered at once, if it names itself. It may be encoded. */
export function recordMessage(ledger: Ledger, podUid: string, message: string): void {
  const id = /id:([\w-]+);/.exec(message)?.[1];
  if (id !== undefined) ledger.begin(id, podUid).end = "answered";
}
