// Explores small models exhaustively, breadth first, so that the reported counterexample is the shortest one.

/** One possible next step. */
export interface Step<S> {
  /** A description for the trace. */
  readonly what: string;
  readonly next: S;
  /** The violation of this step, if any. */
  readonly broken?: string;
}

export interface Model<S> {
  readonly initial: S;
  /** All possible steps of a state, one at a time: time is the order of steps. */
  steps(state: S): readonly Step<S>[];
  /** Two states with the same code have the same future. */
  encode(state: S): string;
  /** Whether nothing is waited for. From every state some path must lead to such a state. */
  isSettled(state: S): boolean;
}

export interface Counterexample {
  readonly why: string;
  /** The steps, in order. */
  readonly trace: readonly string[];
}

export interface Exploration {
  readonly states: number;
  readonly steps: number;
  /** The number of steps to the most distant state. */
  readonly depth: number;
  readonly counterexample: Counterexample | undefined;
}

/** @throws Error if there are more than `statesMax` states, because an incomplete exploration proves nothing. */
export function explore<S>(model: Model<S>, statesMax: number): Exploration {
  const graph = new Graph<S>(model.encode(model.initial), model.initial);
  if (model.isSettled(model.initial)) graph.settle();
  let steps = 0;
  for (let from = 0; from < graph.size; from += 1) {
    for (const { what, next, broken } of model.steps(graph.takeState(from))) {
      steps += 1;
      if (graph.reach(model.encode(next), next, from, what) && model.isSettled(next)) graph.settle();
      if (broken) return graph.report(steps, { why: broken, trace: [...graph.traceTo(from), what] });
      if (graph.size > statesMax) throw new Error(`more than ${statesMax} states`);
    }
  }
  const stuck = graph.firstStuck();
  const why = "no further step ends all waits";
  return graph.report(steps, stuck === undefined ? undefined : { why, trace: graph.traceTo(stuck) });
}

/** The reached states, by code, and the steps to them. A state itself is dropped once its steps were taken. */
class Graph<S> {
  readonly #settled: number[] = [];
  readonly #byCode = new Map<string, number>();
  readonly #states: (S | undefined)[] = [];
  readonly #parents: number[] = [];
  readonly #labels: string[] = [];
  readonly #depths: number[] = [];
  readonly #edges: { readonly from: number[]; readonly to: number[] } = { from: [], to: [] };

  constructor(code: string, initial: S) {
    this.#add(code, initial, -1, "");
  }

  get size(): number {
    return this.#states.length;
  }

  takeState(index: number): S {
    const state = this.#states[index];
    if (state === undefined) throw new Error(`state ${index} was taken before`);
    this.#states[index] = undefined;
    return state;
  }

  /** Returns whether the state is new. */
  reach(code: string, state: S, from: number, what: string): boolean {
    const known = this.#byCode.get(code);
    const to = known ?? this.#add(code, state, from, what);
    if (to !== from) {
      this.#edges.from.push(from);
      this.#edges.to.push(to);
    }
    return known === undefined;
  }

  /** The newest state waits for nothing. */
  settle(): void {
    this.#settled.push(this.size - 1);
  }

  traceTo(index: number): readonly string[] {
    const trace: string[] = [];
    for (let at = index; at > 0; at = this.#parents[at] ?? 0) trace.unshift(this.#labels[at] ?? "");
    return trace;
  }

  /** The nearest state from which no settled state can be reached. */
  firstStuck(): number | undefined {
    const hopeful = this.#thatCanSettle();
    const stuck = hopeful.indexOf(0);
    return stuck < 0 ? undefined : stuck;
  }

  report(steps: number, counterexample: Counterexample | undefined): Exploration {
    return { states: this.size, steps, depth: this.#depths.at(-1) ?? 0, counterexample };
  }

  #add(code: string, state: S, from: number, what: string): number {
    const index = this.#states.push(state) - 1;
    this.#byCode.set(code, index);
    this.#parents.push(from);
    this.#labels.push(what);
    this.#depths.push(from < 0 ? 0 : (this.#depths[from] ?? 0) + 1);
    return index;
  }

  /** Follows all steps backwards from the settled states; 1 marks the reached ones. */
  #thatCanSettle(): Uint8Array {
    const { from, to } = this.#edges;
    const firstEdge = new Int32Array(this.size).fill(-1);
    const nextEdge = new Int32Array(to.length);
    for (let edge = 0; edge < to.length; edge += 1) {
      const target = to[edge] ?? 0;
      nextEdge[edge] = firstEdge[target] ?? -1;
      firstEdge[target] = edge;
    }
    const hopeful = new Uint8Array(this.size);
    const pending = this.#settled;
    for (const index of pending) hopeful[index] = 1;
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      for (let edge = firstEdge[at] ?? -1; edge >= 0; edge = nextEdge[edge] ?? -1) {
        const source = from[edge] ?? 0;
        if (hopeful[source] === 1) continue;
        hopeful[source] = 1;
        pending.push(source);
      }
    }
    return hopeful;
  }
}
