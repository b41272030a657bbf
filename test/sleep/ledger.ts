/** One request that a workload has begun to carry out. */
export interface Execution {
  readonly podUid: string;
  /** `cut`: its Pod ended under it, or the connection did. */
  end: "running" | "answered" | "cut";
}

/** What the workloads of a test bed have carried out, by the number that each request has. */
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
