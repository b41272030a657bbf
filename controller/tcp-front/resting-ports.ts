import type { Clock } from "../../lib/time/clock.ts";

interface Rest {
  /** By the monotonic clock. */
  readonly untilMs: number;
  readonly namespace: string | undefined;
}

/** Quarantined ports, and the namespaces that had them. There are no more than the range has. */
export class RestingPorts {
  readonly #clock: Clock;
  readonly #restMs: number;
  /** In the order in which they end, for all rest equally long. */
  readonly #rests = new Map<number, Rest>();
  readonly #ofNamespace = new Map<string, number>();

  constructor(clock: Clock, restMs: number) {
    this.#clock = clock;
    this.#restMs = restMs;
  }

  /** Quarantines a port from now on. Without a namespace it counts for its previous namespace, if any. */
  rest(port: number, namespace?: string): void {
    const before = this.#end(port);
    const of = namespace ?? before?.namespace;
    this.#rests.set(port, { untilMs: this.#clock.ticksMs() + this.#restMs, namespace: of });
    this.#count(of, 1);
  }

  has(port: number): boolean {
    const rest = this.#rests.get(port);
    return rest !== undefined && rest.untilMs > this.#clock.ticksMs();
  }

  get size(): number {
    this.#endWhatIsOver();
    return this.#rests.size;
  }

  /** How many of them a namespace had. */
  of(namespace: string): number {
    this.#endWhatIsOver();
    return this.#ofNamespace.get(namespace) ?? 0;
  }

  #endWhatIsOver(): void {
    const nowMs = this.#clock.ticksMs();
    for (const [port, { untilMs }] of this.#rests) {
      if (untilMs > nowMs) return;
      this.#end(port);
    }
  }

  #end(port: number): Rest | undefined {
    const rest = this.#rests.get(port);
    this.#rests.delete(port);
    if (rest) this.#count(rest.namespace, -1);
    return rest;
  }

  #count(namespace: string | undefined, change: number): void {
    if (namespace === undefined) return;
    const ports = (this.#ofNamespace.get(namespace) ?? 0) + change;
    if (ports > 0) this.#ofNamespace.set(namespace, ports);
    else this.#ofNamespace.delete(namespace);
  }
}
