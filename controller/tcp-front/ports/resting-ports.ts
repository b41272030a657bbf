import type { TcpFront } from "../../../api/between-programs/tcp-front.ts";
import { parseKey } from "../../../api/kinds/meta.ts";
import { KeyCounts } from "../../../lib/queues/key-counts.ts";
import type { Clock } from "../../../lib/time/clock.ts";

interface Rest {
  /** By the monotonic clock. */
  readonly untilMs: number;
  readonly namespace: string | undefined;
  /** The key of the slice that may have the port back. */
  readonly owner: string | undefined;
}

/** Quarantined ports, and the slices that had them. There are no more than the range has. */
export class RestingPorts {
  readonly #clock: Clock;
  readonly #restMs: number;
  readonly #onEnd: (port: number) => void;
  /** In the order in which they end, for all rest equally long. */
  readonly #rests = new Map<number, Rest>();
  readonly #ofNamespace = new KeyCounts();

  /** `onEnd`: a port rests no more. After the end of its time it is called no later than by the next `endWhatIsOver`. */
  constructor(clock: Clock, restMs: number, onEnd: (port: number) => void = () => {}) {
    this.#clock = clock;
    this.#restMs = restMs;
    this.#onEnd = onEnd;
  }

  /**
   * Quarantines a port from now on. `owner`: the key of the slice that had it. Without one the port counts for its previous namespace, if
   * any, and no slice gets it back.
   */
  rest(port: number, owner?: string): void {
    const before = this.end(port);
    const namespace = owner === undefined ? before?.namespace : (parseKey(owner).namespace ?? "");
    this.#rests.set(port, { untilMs: this.#clock.ticksMs() + this.#restMs, namespace, owner });
    if (namespace !== undefined) this.#ofNamespace.add(namespace);
  }

  has(port: number): boolean {
    return this.#current(port) !== undefined;
  }

  /** The key of the slice that may have a quarantined port back. */
  ownerOf(port: number): string | undefined {
    return this.#current(port)?.owner;
  }

  get size(): number {
    this.endWhatIsOver();
    return this.#rests.size;
  }

  /** How many of them a namespace had. */
  of(namespace: string): number {
    this.endWhatIsOver();
    return this.#ofNamespace.of(namespace);
  }

  /** Ends the quarantine of a port. */
  end(port: number): Rest | undefined {
    const rest = this.#rests.get(port);
    if (!rest) return undefined;
    this.#rests.delete(port);
    if (rest.namespace !== undefined) this.#ofNamespace.remove(rest.namespace);
    this.#onEnd(port);
    return rest;
  }

  #current(port: number): Rest | undefined {
    const rest = this.#rests.get(port);
    return rest && rest.untilMs > this.#clock.ticksMs() ? rest : undefined;
  }

  /** Costs as much as there is to end. */
  endWhatIsOver(): void {
    const nowMs = this.#clock.ticksMs();
    for (const [port, { untilMs }] of this.#rests) {
      if (untilMs > nowMs) return;
      this.end(port);
    }
  }
}

/** The ports that a slice had, without those whose quarantine is over by its own record. */
export function portsToRest(
  ports: ReadonlySet<number>,
  front: TcpFront | undefined,
  isOver: (freedAt: string) => boolean,
): readonly number[] {
  if (front?.freedAt !== undefined && isOver(front.freedAt)) return [];
  const over = (front?.freedPorts ?? []).filter(({ freedAt }) => isOver(freedAt));
  const rested = new Set(over.map(({ activatorPort }) => activatorPort));
  return [...ports].filter((port) => !rested.has(port));
}
