import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { Clock } from "../../../lib/time/clock.ts";

interface Sight {
  readonly uid: string;
  /** RFC 3339 with nanoseconds. */
  readonly at: string;
  /** Monotonic. */
  readonly sinceMs: number;
  /** When it became ready; RFC 3339 with nanoseconds, or `unknown`. */
  readonly readyAt?: string;
}

/** When this process first saw each claim, and saw it become ready, until both are written on the claim. */
export class FirstSights {
  readonly #clock: Clock;
  readonly #sights = new Map<string, Sight>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a claim. A claim that was created again under the same name counts as new. */
  see(claim: Stored<SandboxClaim>): Sight {
    const key = keyOf(claim);
    const { uid } = claim.metadata;
    const known = this.#sights.get(key);
    if (known?.uid === uid) return known;
    const sight = { uid, at: withNanoseconds(this.#clock.now()), sinceMs: this.#clock.ticksMs() };
    this.#sights.set(key, sight);
    return sight;
  }

  /** Milliseconds since the claim was first seen. */
  ageMs(claim: Stored<SandboxClaim>): number {
    return this.#clock.ticksMs() - this.see(claim).sinceMs;
  }

  /** Records when a claim became ready. A later pass writes it. */
  becameReady(claim: Stored<SandboxClaim>, at: Date): void {
    this.#sights.set(keyOf(claim), { ...this.see(claim), readyAt: withNanoseconds(at) });
  }

  hasSeenReady(claim: Stored<SandboxClaim>): boolean {
    const sight = this.#sights.get(keyOf(claim));
    return sight?.uid === claim.metadata.uid && sight.readyAt !== undefined;
  }

  /**
   * When a claim became ready, for the first attempt to write it; `unknown` afterwards, and if this process did not see
   * it.
   */
  takeReadyAt(claim: Stored<SandboxClaim>): string {
    const sight = this.#sights.get(keyOf(claim));
    if (sight?.uid !== claim.metadata.uid || sight.readyAt === undefined) return "unknown";
    this.#sights.set(keyOf(claim), { ...sight, readyAt: "unknown" });
    return sight.readyAt;
  }

  /** Whether the claim is ready and only the time remains to be written. */
  isServed(key: string): boolean {
    return this.#sights.get(key)?.readyAt !== undefined;
  }

  /** Forgets a claim; with a UID, only the claim with that UID. */
  forget(key: string, uid?: string): void {
    if (uid === undefined || this.#sights.get(key)?.uid === uid) this.#sights.delete(key);
  }

  get size(): number {
    return this.#sights.size;
  }
}

/** RFC 3339 with nanoseconds. Readers take a zero fraction for a clock of whole seconds, so it is never zero. */
export const withNanoseconds = (at: Date): string =>
  at.toISOString().replace(/\.(\d{3})Z$/, (_, ms: string) => `.${ms}${ms === "000" ? "000001" : "000000"}Z`);
