// Explores small models exhaustively, breadth first, so that the reported counterexample is the shortest one.
import { Codes } from "./codes.ts";

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
  /** Writes the code of a state. Two states with the same code have the same future. */
  encode(state: S, codes: Codes): void;
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
  const graph = new Graph<S>(model);
  let steps = 0;
  for (let from = 0; from < graph.size; from += 1) {
    for (const { what, next, broken } of model.steps(graph.takeState(from))) {
      steps += 1;
      graph.reach(next, from, what);
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
  readonly #model: Model<S>;
  readonly #settled: number[] = [];
  readonly #codes = new Codes();
  readonly #states: (S | undefined)[] = [];
  readonly #parents: number[] = [];
  readonly #labels: string[] = [];
  readonly #depths: number[] = [];
  readonly #edges: { readonly from: number[]; readonly to: number[] } = { from: [], to: [] };

  constructor(model: Model<S>) {
    this.#model = model;
    this.#number(model.initial, -1, "");
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

  reach(state: S, from: number, what: string): void {
    const to = this.#number(state, from, what);
    if (to === from) return;
    this.#edges.from.push(from);
    this.#edges.to.push(to);
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

  #number(state: S, from: number, what: string): number {
    this.#model.encode(state, this.#codes);
    const index = this.#codes.end();
    if (index < this.size) return index;
    this.#states.push(state);
    this.#parents.push(from);
    this.#labels.push(what);
    this.#depths.push(from < 0 ? 0 : (this.#depths[from] ?? 0) + 1);
    if (this.#model.isSettled(state)) this.#settled.push(index);
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
