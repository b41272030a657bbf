import type { Seal } from "../../api/suspension.ts";

interface Sighting {
  readonly agoMs: number;
  readonly atMs: number;
}

/**
 * For how long Pods have been sealed. The time that a seal tells is believed once, when this process first sees it; from then
 * on monotonic time is added, so that a jump of the clock neither cuts a drain short nor prolongs it.
 */
export class SealAges {
  readonly #sightings = new Map<string, Sighting>();

  /** Milliseconds since the seal. */
  ageMs({ podUid, at }: Seal, now: Date, nowMs: number): number {
    const key = `${podUid} ${at}`;
    const seen = this.#sightings.get(key) ?? {
      agoMs: Math.max(now.getTime() - new Date(at).getTime(), 0),
      atMs: nowMs,
    };
    this.#sightings.set(key, seen);
    return seen.agoMs + nowMs - seen.atMs;
  }

  /** That Pod is gone. */
  forget(podUid: string): void {
    for (const key of this.#sightings.keys()) if (key.startsWith(`${podUid} `)) this.#sightings.delete(key);
  }
}
