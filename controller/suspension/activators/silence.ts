/** How long an activator has not answered, and how much of that its Pod was known not to serve. */
export interface Silence {
  readonly forMs: number;
  /** 0 while its Pod is Ready: then it may still proxy. */
  readonly lostForMs: number;
}

/** After so many milliseconds a lost activator counts for nothing, and a sealed Pod waits for a silent one no longer. */
export const longestSilenceMs = 300_000;
/** Before the seal, an activator whose Pod is Ready counts as busy, however long it has been silent. */
export const usualSilenceLimitMs = Number.POSITIVE_INFINITY;

/** The silence since the last contact. `unreadySinceMs`: since when its Pod has been seen not to be Ready, if it has. */
export const silenceSince = (contactMs: number, unreadySinceMs: number | undefined, nowMs: number): Silence => ({
  forMs: nowMs - contactMs,
  lostForMs: unreadySinceMs === undefined ? 0 : nowMs - Math.max(contactMs, unreadySinceMs),
});

/** Its Pod is not Ready and it has not answered for so long that it counts as gone. */
export const isLost = ({ lostForMs }: Silence): boolean => lostForMs >= longestSilenceMs;

/** Whether a silent activator blocks the suspension of sandboxes whose Pod is not sealed yet. */
export const keepsAwake = (silence: Silence, limitMs: number): boolean => !isLost(silence) && silence.forMs < limitMs;

/** Whether a Pod that was sealed `sealedForMs` ago waits for a silent activator. */
export const delaysDeletion = (silence: Silence, sealedForMs: number): boolean =>
  !isLost(silence) && Math.min(silence.forMs, sealedForMs) < longestSilenceMs;

/** Since when each activator has not answered, in monotonic milliseconds of this process. */
export class Silences {
  /** Last contact, or the first attempt at one. */
  readonly #contactMs = new Map<string, number>();
  readonly #unreadySinceMs = new Map<string, number>();

  /** Records the state of an activator in the cluster. */
  seen({ id, mayServe }: { readonly id: string; readonly mayServe: boolean }, nowMs: number): void {
    if (mayServe) this.#unreadySinceMs.delete(id);
    else if (!this.#unreadySinceMs.has(id)) this.#unreadySinceMs.set(id, nowMs);
  }

  /** Its answer is at most as old as the question. */
  answered(id: string, askedAtMs: number): void {
    this.#contactMs.set(id, askedAtMs);
  }

  /** An activator that never answered counts as silent since the first call. */
  unanswered(id: string, askedAtMs: number): void {
    if (!this.#contactMs.has(id)) this.#contactMs.set(id, askedAtMs);
  }

  of(id: string, nowMs: number): Silence {
    return silenceSince(this.#contactMs.get(id) ?? nowMs, this.#unreadySinceMs.get(id), nowMs);
  }

  /** Forgets all but these. */
  keep(ids: ReadonlySet<string>): void {
    for (const known of [this.#contactMs, this.#unreadySinceMs]) {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    }
  }
}
