import { parseKey } from "../../../api/kinds/meta.ts";
import { KeyCounts } from "../../../lib/queues/key-counts.ts";
import type { Clock, Timer } from "../../../lib/time/clock.ts";
import type { PortLedger, PortLimit } from "./port-ledger.ts";

/** What somebody waits for. What one sandbox asks for too much, only its own change mends. */
export type AwaitedRoom = Exclude<PortLimit, "sandbox">;

/** Room comes with no event where a quarantine ends that was only in memory. One look serves all that wait. */
const lookEveryMs = 1_000;

/** Keys that wait for the same room, in their order. */
interface Line {
  /** Undefined: they wait for a port of the range. */
  readonly namespace: string | undefined;
  readonly keys: Set<string>;
}

/**
 * Slices that lack activator ports, because none is left in the range or for their namespace. When there is room, as many are called as have
 * room, the first ones first. While there is none, a look costs as much as there are namespaces that wait.
 */
export class PortWaiters implements Disposable {
  readonly #ledger: Pick<PortLedger, "room" | "roomIn">;
  readonly #clock: Clock;
  readonly #onRoom: (key: string) => void;
  readonly #range: Line = { namespace: undefined, keys: new Set() };
  readonly #namespaces = new Map<string, Line>();
  /** They may take ports soon, and are counted as if they had. */
  readonly #called = new Set<string>();
  readonly #calledIn = new KeyCounts();
  #timer: Timer | undefined;

  constructor(ledger: Pick<PortLedger, "room" | "roomIn">, clock: Clock, onRoom: (key: string) => void) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#onRoom = onRoom;
  }

  get size(): number {
    return this.#namespaces.values().reduce((sum, { keys }) => sum + keys.size, this.#range.keys.size);
  }

  /** Calls the key when there may be room. One that waits for it already keeps its place. */
  wait(key: string, awaited: AwaitedRoom): void {
    const line = this.#lineFor(key, awaited);
    if (line.keys.has(key)) return;
    this.settle(key);
    line.keys.add(key);
    if (line.namespace !== undefined) this.#namespaces.set(line.namespace, line);
    this.#lookLater();
  }

  /** The key has its ports, or needs none. */
  settle(key: string): void {
    const namespace = namespaceOf(key);
    if (this.#called.delete(key)) this.#calledIn.remove(namespace);
    this.#range.keys.delete(key);
    const line = this.#namespaces.get(namespace);
    if (line?.keys.delete(key) && line.keys.size === 0) this.#namespaces.delete(namespace);
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#range.keys.clear();
    this.#namespaces.clear();
  }

  #lineFor(key: string, awaited: AwaitedRoom): Line {
    if (awaited === "range") return this.#range;
    const namespace = namespaceOf(key);
    return this.#namespaces.get(namespace) ?? { namespace, keys: new Set() };
  }

  #lookLater(): void {
    if (this.#timer || this.size === 0) return;
    this.#timer = this.#clock.after(lookEveryMs, () => {
      this.#timer = undefined;
      for (const line of [...this.#namespaces.values(), this.#range]) this.#look(line);
      this.#lookLater();
    });
  }

  #look({ namespace, keys }: Line): void {
    const room =
      namespace === undefined
        ? this.#ledger.room - this.#called.size
        : this.#ledger.roomIn(namespace) - this.#calledIn.of(namespace);
    if (room <= 0) return;
    for (const key of [...keys.values().take(room)]) {
      this.settle(key);
      this.#called.add(key);
      this.#calledIn.add(namespaceOf(key));
      this.#onRoom(key);
    }
  }
}

const namespaceOf = (key: string): string => parseKey(key).namespace ?? "";
