import { parseKey } from "../../../api/kinds/meta.ts";
import { KeyCounts } from "../../../lib/queues/key-counts.ts";
import type { Clock, Timer } from "../../../lib/time/clock.ts";
import type { PortLedger, PortLimit } from "./port-ledger.ts";

/** What somebody waits for. What one sandbox asks for too much, only its own change mends. */
export type AwaitedRoom = Exclude<PortLimit, "sandbox">;

/** Room comes with no event where a quarantine ends that was only in memory. One look serves all that wait. */
const lookEveryMs = 1_000;

/** The keys of each namespace that wait for the same kind of room, in their order. */
type Lines = Map<string, Set<string>>;

/**
 * Slices that lack activator ports, because none is left in the range or for their namespace. When there is room, as many are called as have
 * room: of one namespace the first ones first, and for ports of the range one of each namespace in turn, so that the line of one
 * tenant does not delay another. While there is no room, a look costs as much as there are namespaces that wait.
 */
export class PortWaiters implements Disposable {
  readonly #ledger: Pick<PortLedger, "room" | "roomIn">;
  readonly #clock: Clock;
  readonly #onRoom: (key: string) => void;
  readonly #lines: Readonly<Record<AwaitedRoom, Lines>> = { range: new Map(), namespace: new Map() };
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
    const { range, namespace } = this.#lines;
    return [...range.values(), ...namespace.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Calls the key when there may be room. One that waits for it already keeps its place. */
  wait(key: string, awaited: AwaitedRoom): void {
    const lines = this.#lines[awaited];
    const namespace = namespaceOf(key);
    if (lines.get(namespace)?.has(key)) return;
    this.settle(key);
    lines.set(namespace, (lines.get(namespace) ?? new Set()).add(key));
    this.#lookLater();
  }

  /** The key has its ports, or needs none. */
  settle(key: string): void {
    const namespace = namespaceOf(key);
    if (this.#called.delete(key)) this.#calledIn.remove(namespace);
    for (const lines of Object.values(this.#lines)) {
      const line = lines.get(namespace);
      if (line?.delete(key) && line.size === 0) lines.delete(namespace);
    }
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    for (const lines of Object.values(this.#lines)) lines.clear();
  }

  #lookLater(): void {
    if (this.#timer || Object.values(this.#lines).every(({ size }) => size === 0)) return;
    this.#timer = this.#clock.after(lookEveryMs, () => {
      this.#timer = undefined;
      for (const [namespace, keys] of [...this.#lines.namespace]) {
        for (const key of [...keys].slice(0, Math.max(this.#roomIn(namespace), 0))) this.#call(key);
      }
      this.#callForRange();
      this.#lookLater();
    });
  }

  #callForRange(): void {
    const { range } = this.#lines;
    let room = this.#ledger.room - this.#called.size;
    for (let before = -1; room > 0 && room !== before; ) {
      before = room;
      for (const [namespace, keys] of [...range]) {
        const [key] = keys;
        if (room <= 0 || key === undefined || this.#roomIn(namespace) <= 0) continue;
        room -= 1;
        this.#call(key);
        // The next look begins with the others.
        if (range.delete(namespace)) range.set(namespace, keys);
      }
    }
  }

  #roomIn(namespace: string): number {
    return this.#ledger.roomIn(namespace) - this.#calledIn.of(namespace);
  }

  #call(key: string): void {
    this.settle(key);
    this.#called.add(key);
    this.#calledIn.add(namespaceOf(key));
    this.#onRoom(key);
  }
}

const namespaceOf = (key: string): string => parseKey(key).namespace ?? "";
