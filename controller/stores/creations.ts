import { isLaterVersion, type KubeObject, type Stored } from "../../api/kinds/meta.ts";
import { backoffDelayMs } from "../../lib/queues/backoff.ts";
import type { Clock } from "../../lib/time/clock.ts";

interface Creation {
  /** Of the owner, when the child was created for it. */
  readonly version: string;
  readonly generation: number;
  readonly atMs: number;
  /** How many children in a row were lost soon after their creation. */
  readonly losses: number;
  /** When the child was first missed, and when the next one may be created. */
  missed?: { readonly losses: number; readonly dueMs: number };
}

/** A child that stood for this long was no loss. */
const steadyMs = 60_000;
/** After the second loss in a row; the first one costs no pause, as when somebody restarts a Pod by its deletion. */
const lossBackoff = { baseMs: 10, maxMs: 30_000, jitter: 0.1 };
const rememberMs = 300_000;
const entriesMax = 100_000;

/**
 * What was created for whom in the last minutes. A store may show an owner that was deleted, for as long as its watch is silent. The
 * garbage collector deletes what is created for such an owner, the deletion causes the next pass, and this pass creates it again. All
 * these passes succeed, so no backoff of a queue ends that. So before a child is created again for an owner that has not changed, its
 * owner is read; and if a child is lost again and again, the next one waits. In memory only: a restart costs one creation.
 */
export class Creations {
  readonly #clock: Clock;
  /** The oldest first. */
  readonly #creations = new Map<string, Creation>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the child was created for this version of its owner, or a later one: then the owner must be read first. */
  isRepeated(owner: Stored<KubeObject>, child: string): boolean {
    const before = this.#creationOf(owner, child);
    return before !== undefined && !isLaterVersion(owner.metadata.resourceVersion, before.version);
  }

  /** Milliseconds until a missing child may be created. An owner with another spec asks for another child, without a wait. */
  waitMs(owner: Stored<KubeObject>, child: string): number {
    const before = this.#creationOf(owner, child);
    if (!before || before.generation !== generationOf(owner)) return 0;
    const nowMs = this.#clock.ticksMs();
    before.missed ??= missedAt(nowMs, before);
    return Math.max(before.missed.dueMs - nowMs, 0);
  }

  /** The child was created for its owner as it was seen. */
  note(owner: Stored<KubeObject>, child: string): void {
    const { uid, resourceVersion: version } = owner.metadata;
    const generation = generationOf(owner);
    const before = this.#creationOf(owner, child);
    const losses = before?.generation === generation ? (before.missed?.losses ?? 0) : 0;
    const key = keyOf(uid, child);
    this.#creations.delete(key);
    this.#creations.set(key, { version, generation, atMs: this.#clock.ticksMs(), losses });
    const [oldest] = this.#creations.keys();
    if (this.#creations.size > entriesMax && oldest !== undefined) this.#creations.delete(oldest);
  }

  #creationOf({ metadata }: Stored<KubeObject>, child: string): Creation | undefined {
    const forgottenMs = this.#clock.ticksMs() - rememberMs;
    for (const [key, { atMs }] of this.#creations) {
      if (atMs > forgottenMs) break;
      this.#creations.delete(key);
    }
    return this.#creations.get(keyOf(metadata.uid, child));
  }
}

function missedAt(nowMs: number, { atMs, losses: before }: Creation): Required<Creation>["missed"] {
  const losses = nowMs - atMs >= steadyMs ? 0 : before + 1;
  return { losses, dueMs: nowMs + backoffDelayMs(losses - 1, lossBackoff) };
}

const keyOf = (uid: string, child: string): string => `${uid}/${child}`;

const generationOf = ({ metadata }: Stored<KubeObject>): number => metadata.generation ?? 0;
