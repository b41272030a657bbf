/** A pool member that may be given to a claim. */
export interface Candidate {
  /** `namespace/name`. */
  readonly key: string;
  /** Empty until the Pod is scheduled. */
  readonly nodeName: string;
}

/** A candidate that was taken from a queue; `turn` is its place in the queue. */
export interface Taken extends Candidate {
  readonly turn: number;
}

/**
 * The unclaimed sandboxes, by the `namespace/name` of their pool. `take` and `putBack` are synchronous, so that two
 * claims never hold the same candidate.
 */
export class AdoptionQueues {
  readonly #pools = new Map<string, PoolQueue>();

  /** Adds a candidate at the end. A candidate that is queued already keeps its place; its node is updated. */
  add(pool: string, candidate: Candidate): void {
    this.#of(pool).add(candidate);
  }

  remove(pool: string, key: string): void {
    const queue = this.#pools.get(pool);
    queue?.remove(key);
    if (queue?.size === 0) this.#pools.delete(pool);
  }

  drop(pool: string): void {
    this.#pools.delete(pool);
  }

  /**
   * Takes from the node with the most candidates, so that the rest stays spread; among equal nodes, the oldest
   * candidate.
   */
  take(pool: string): Taken | undefined {
    const taken = this.#pools.get(pool)?.next();
    if (taken) this.remove(pool, taken.key);
    return taken;
  }

  /**
   * All candidates in the order in which a claim prefers them, node by node as `take` begins. The queue must not change meanwhile.
   * To take each and put it back would cost a search over all nodes for each.
   */
  inOrder(pool: string): Iterable<Taken> {
    return this.#pools.get(pool)?.inOrder() ?? [];
  }

  /** Returns a candidate to its former place. */
  putBack(pool: string, candidate: Taken): void {
    this.#of(pool).putBack(candidate);
  }

  /** Number of queued candidates. */
  size(pool: string): number {
    return this.#pools.get(pool)?.size ?? 0;
  }

  #of(pool: string): PoolQueue {
    const queue = this.#pools.get(pool) ?? new PoolQueue();
    this.#pools.set(pool, queue);
    return queue;
  }
}

const unscheduled = "";

class PoolQueue {
  readonly #entries = new Map<string, Taken>();
  /** The same entries by node, each list ordered by turn, so that taking one does not scan all of them. */
  readonly #byNode = new Map<string, Taken[]>();
  #turns = 0;

  get size(): number {
    return this.#entries.size;
  }

  add(candidate: Candidate): void {
    const known = this.#entries.get(candidate.key);
    this.#insert({ ...candidate, turn: known?.turn ?? ++this.#turns });
  }

  putBack(candidate: Taken): void {
    if (!this.#entries.has(candidate.key)) this.#insert(candidate);
  }

  remove(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    const neighbours = this.#byNode.get(entry.nodeName) ?? [];
    neighbours.splice(placeOf(entry.turn, neighbours), 1);
    if (neighbours.length === 0) this.#byNode.delete(entry.nodeName);
  }

  next(): Taken | undefined {
    return this.#fullest()[0] ?? this.#byNode.get(unscheduled)?.[0];
  }

  *inOrder(): Iterable<Taken> {
    const best = this.#fullest();
    yield* best; // mostly its first is taken, and the others need no order
    const others = [...this.#byNode].filter(([nodeName, each]) => nodeName !== unscheduled && each !== best);
    for (const [, neighbours] of others.sort(([, a], [, b]) => (goesBefore(a, b) ? -1 : 1))) yield* neighbours;
    yield* this.#byNode.get(unscheduled) ?? [];
  }

  #fullest(): readonly Taken[] {
    let best: readonly Taken[] = [];
    for (const [nodeName, neighbours] of this.#byNode) {
      if (nodeName !== unscheduled && goesBefore(neighbours, best)) best = neighbours;
    }
    return best;
  }

  #insert(entry: Taken): void {
    this.remove(entry.key);
    this.#entries.set(entry.key, entry);
    const neighbours = this.#byNode.get(entry.nodeName) ?? [];
    neighbours.splice(placeOf(entry.turn, neighbours), 0, entry);
    this.#byNode.set(entry.nodeName, neighbours);
  }
}

function goesBefore(these: readonly Taken[], those: readonly Taken[]): boolean {
  if (these.length !== those.length) return these.length > those.length;
  return (these[0]?.turn ?? 0) < (those[0]?.turn ?? 0);
}

/** The index of the entry with this turn in a list ordered by turn, or the index to insert it at. */
function placeOf(turn: number, entries: readonly Taken[]): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.turn ?? 0) < turn) low = middle + 1;
    else high = middle;
  }
  return low;
}
