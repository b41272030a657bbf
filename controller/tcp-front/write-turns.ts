import { groupOf } from "../../lib/queues/fair-keys.ts";
import { TokenBuckets } from "../../lib/queues/token-buckets.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";

/**
 * What a write is about, the most urgent first: a sandbox that cannot be reached yet, one that leads to an activator
 * that is gone, and everything else.
 */
const urgencies = ["first", "removal", "refresh"] as const;
export type Urgency = (typeof urgencies)[number];

/**
 * The urgency that comes first at each of the turns of a namespace: mostly the most urgent one; each of the others has one of eight, so
 * that none waits for ever.
 */
const turnsOf = ["first", "first", "first", "removal", "first", "first", "first", "refresh"] as const;

/** Those that may come before the turn of their namespace. */
const hurried = ["first", "removal"] as const;

/** The part of all turns that one namespace may have before its own ones, and the part of a second's that it may have so at once. */
const hurriedPart = 0.05;
const hurriedBurstPart = 0.1;

interface Namespace {
  readonly keys: Readonly<Record<Urgency, Set<string>>>;
  turns: number;
}

/**
 * Keys that wait. The namespaces take turns, whatever they ask for, and in a namespace the urgent keys come first. Every other turn is for
 * urgent keys of any namespace, in turns of their own: so a new sandbox does not wait for each of thousands of namespaces. A namespace has
 * only a few of these, so one that makes urgent changes without end delays others by no more than its share.
 */
class WaitingKeys {
  /** In the order of their turns. */
  readonly #namespaces = new Map<string, Namespace>();
  /** Those with urgent keys, in the order of the turns for these. */
  readonly #hurried: Readonly<Record<(typeof hurried)[number], Set<string>>> = { first: new Set(), removal: new Set() };
  readonly #hurriedTurns: TokenBuckets;
  #turns = 0;
  size = 0;

  constructor(perSecond: number, clock: Clock) {
    const burst = Math.max(1, perSecond * hurriedBurstPart);
    this.#hurriedTurns = new TokenBuckets({ perSecond: perSecond * hurriedPart, burst }, clock);
  }

  has(key: string, urgency: Urgency): boolean {
    return this.#namespaces.get(groupOf(key))?.keys[urgency].has(key) ?? false;
  }

  add(key: string, urgency: Urgency): void {
    const name = groupOf(key);
    const known = this.#namespaces.get(name);
    const namespace = known ?? { keys: { first: new Set(), removal: new Set(), refresh: new Set() }, turns: 0 };
    if (!known) this.#namespaces.set(name, namespace);
    namespace.keys[urgency].add(key);
    if (urgency !== "refresh") this.#hurried[urgency].add(name);
    this.size += 1;
  }

  delete(key: string): void {
    const name = groupOf(key);
    const namespace = this.#namespaces.get(name);
    if (!namespace) return;
    for (const urgency of urgencies) {
      const keys = namespace.keys[urgency];
      if (!keys.delete(key)) continue;
      this.size -= 1;
      if (keys.size === 0 && urgency !== "refresh") this.#hurried[urgency].delete(name);
    }
    if (urgencies.every((urgency) => namespace.keys[urgency].size === 0)) this.#namespaces.delete(name);
  }

  /** Takes the next one out. */
  shift(): string | undefined {
    this.#turns += 1;
    const key = (this.#turns % 2 === 1 ? this.#nextHurried() : undefined) ?? this.#nextInTurn();
    if (key !== undefined) this.delete(key);
    return key;
  }

  clear(): void {
    this.#namespaces.clear();
    for (const urgency of hurried) this.#hurried[urgency].clear();
    this.size = 0;
  }

  #nextHurried(): string | undefined {
    for (const urgency of hurried) {
      const names = this.#hurried[urgency];
      for (const name of names) {
        if (this.#hurriedTurns.take(name, 0) === undefined) continue;
        names.delete(name);
        names.add(name);
        const namespace = this.#namespaces.get(name);
        // This was its turn, unless keys of another urgency wait for that.
        if (namespace && urgencies.every((one) => one === urgency || namespace.keys[one].size === 0)) {
          this.#namespaces.delete(name);
          this.#namespaces.set(name, namespace);
        }
        return firstOf(namespace?.keys[urgency]);
      }
    }
    return undefined;
  }

  #nextInTurn(): string | undefined {
    for (const [name, namespace] of this.#namespaces) {
      const ahead = turnsOf[namespace.turns % turnsOf.length] ?? "first";
      namespace.turns += 1;
      this.#namespaces.delete(name);
      this.#namespaces.set(name, namespace);
      const urgency = [ahead, ...urgencies].find((one) => namespace.keys[one].size > 0);
      return urgency && firstOf(namespace.keys[urgency]);
    }
    return undefined;
  }
}

function firstOf(keys: ReadonlySet<string> | undefined): string | undefined {
  for (const key of keys ?? []) return key;
  return undefined;
}

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
  readonly #waiting: WaitingKeys;
  readonly #granted = new Set<string>();
  /** When the leave that was given last is used up, by the monotonic clock. */
  #busyUntilMs: number;
  #timer: Timer | undefined;

  /** `perSecond` is above 0. */
  constructor(perSecond: number, clock: Clock, onTurn: (key: string) => void) {
    this.#everyMs = 1_000 / perSecond;
    this.#waiting = new WaitingKeys(perSecond, clock);
    this.#clock = clock;
    this.#onTurn = onTurn;
    this.#busyUntilMs = clock.ticksMs();
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Whether the key may be written now; if not, it is called when it may. */
  take(key: string, urgency: Urgency): boolean {
    if (this.#granted.delete(key)) return true;
    // A key that is added again keeps its place.
    if (this.#waiting.has(key, urgency)) return false;
    this.#waiting.delete(key);
    if (this.waiting === 0 && this.#mayGive()) {
      this.#give();
      return true;
    }
    this.#waiting.add(key, urgency);
    this.#wait();
    return false;
  }

  /** This key needs no write. */
  drop(key: string): void {
    this.#waiting.delete(key);
    if (!this.#granted.delete(key)) return;
    // The unused turn goes to the next key.
    this.#busyUntilMs -= this.#everyMs;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wait();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#waiting.clear();
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
      const key = this.#waiting.shift();
      if (key === undefined) return;
      this.#give();
      this.#granted.add(key);
      this.#onTurn(key);
    }
  }
}
