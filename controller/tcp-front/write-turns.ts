import type { Clock, Timer } from "../../lib/time/clock.ts";

/**
 * What a write is about, the most urgent first: a sandbox that cannot be reached yet, one that leads to an activator
 * that is gone, and everything else.
 */
const urgencies = ["first", "removal", "refresh"] as const;
export type Urgency = (typeof urgencies)[number];

/**
 * The urgency that comes first at each of eight turns: mostly the most urgent one; each of the others has one turn,
 * so that none waits for ever while a tenant makes more and more urgent changes.
 */
const turnsOf = ["first", "first", "first", "removal", "first", "first", "first", "refresh"] as const;

/** Keys that wait with one urgency: the namespaces take turns, and the keys of each come in their order. */
class WaitingKeys {
  readonly #byNamespace = new Map<string, Set<string>>();
  size = 0;

  has(key: string): boolean {
    return this.#byNamespace.get(namespaceOf(key))?.has(key) ?? false;
  }

  /** A key that waits keeps its place. */
  add(key: string): void {
    if (this.has(key)) return;
    const namespace = namespaceOf(key);
    const keys = this.#byNamespace.get(namespace);
    if (keys) keys.add(key);
    else this.#byNamespace.set(namespace, new Set([key]));
    this.size += 1;
  }

  delete(key: string): void {
    const namespace = namespaceOf(key);
    const keys = this.#byNamespace.get(namespace);
    if (!keys?.delete(key)) return;
    this.size -= 1;
    if (keys.size === 0) this.#byNamespace.delete(namespace);
  }

  /** Takes the next one out. Its namespace goes behind all others. */
  shift(): string | undefined {
    const [next] = this.#byNamespace;
    if (!next) return undefined;
    const [namespace, keys] = next;
    const [key] = keys;
    if (key === undefined) return undefined;
    this.delete(key);
    if (this.#byNamespace.delete(namespace)) this.#byNamespace.set(namespace, keys);
    return key;
  }

  clear(): void {
    this.#byNamespace.clear();
    this.size = 0;
  }
}

/** Of `namespace/name`. */
const namespaceOf = (key: string): string => key.slice(0, Math.max(key.indexOf("/"), 0));

/** As many as come in a second may come at once. */
const burstMs = 1_000;
/** Turns that come within so long come together. */
const gatherMs = 20;

/**
 * Gives leave to write, so many times a second over all keys; a key that gets none is notified when its turn has come, and
 * reads the state to write at that time. So ten thousand slices that change at once become one write each, of their
 * last state, one after the other. Nothing runs while no key waits.
 */
export class WriteTurns implements Disposable {
  readonly #everyMs: number;
  readonly #clock: Clock;
  readonly #onTurn: (key: string) => void;
  readonly #waiting: Readonly<Record<Urgency, WaitingKeys>> = {
    first: new WaitingKeys(),
    removal: new WaitingKeys(),
    refresh: new WaitingKeys(),
  };
  /** How many turns were given to keys that waited. */
  #turns = 0;
  readonly #granted = new Set<string>();
  /** When the leave that was given last is used up, by the monotonic clock. */
  #busyUntilMs: number;
  #timer: Timer | undefined;

  /** `perSecond` is above 0. */
  constructor(perSecond: number, clock: Clock, onTurn: (key: string) => void) {
    this.#everyMs = 1_000 / perSecond;
    this.#clock = clock;
    this.#onTurn = onTurn;
    this.#busyUntilMs = clock.ticksMs();
  }

  get waiting(): number {
    return urgencies.reduce((sum, urgency) => sum + this.#waiting[urgency].size, 0);
  }

  /** Whether the key may be written now; if not, it is called when it may. */
  take(key: string, urgency: Urgency): boolean {
    if (this.#granted.delete(key)) return true;
    // A key that is added again keeps its place.
    if (this.#waiting[urgency].has(key)) return false;
    this.#leave(key);
    if (this.waiting === 0 && this.#mayGive()) {
      this.#give();
      return true;
    }
    this.#waiting[urgency].add(key);
    this.#wait();
    return false;
  }

  /** This key needs no write. */
  drop(key: string): void {
    this.#leave(key);
    if (!this.#granted.delete(key)) return;
    // The unused turn goes to the next key.
    this.#busyUntilMs -= this.#everyMs;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wait();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    for (const urgency of urgencies) this.#waiting[urgency].clear();
  }

  #leave(key: string): void {
    for (const urgency of urgencies) this.#waiting[urgency].delete(key);
  }

  #mayGive(): boolean {
    return this.#busyUntilMs + this.#everyMs <= this.#clock.ticksMs() + burstMs;
  }

  #give(): void {
    this.#busyUntilMs = Math.max(this.#busyUntilMs, this.#clock.ticksMs()) + this.#everyMs;
  }

  #wait(): void {
    if (this.#timer || this.waiting === 0) return;
    const inMs = this.#busyUntilMs + this.#everyMs - burstMs - this.#clock.ticksMs();
    this.#timer = this.#clock.after(Math.max(Math.ceil(inMs), gatherMs), () => {
      this.#timer = undefined;
      this.#turn();
      this.#wait();
    });
  }

  #turn(): void {
    while (this.#mayGive()) {
      const key = this.#next();
      if (key === undefined) return;
      this.#give();
      this.#granted.add(key);
      this.#onTurn(key);
    }
  }

  #next(): string | undefined {
    const ahead = turnsOf[this.#turns % turnsOf.length] ?? "first";
    this.#turns += 1;
    for (const urgency of [ahead, ...urgencies]) {
      const key = this.#waiting[urgency].shift();
      if (key !== undefined) return key;
    }
    return undefined;
  }
}
