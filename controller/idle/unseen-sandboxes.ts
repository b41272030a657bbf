import type { SandboxActivity } from "../../api/between-programs/drain-protocol.ts";
import { keyFor } from "../../api/kinds/meta.ts";

/**
 * How long the activity of a sandbox is kept that the stores do not show. A new sandbox appears in this time: a watch is begun anew
 * after a silence of 100 s.
 */
const patienceMs = 300_000;

interface Unseen {
  readonly key: string;
  readonly sinceMs: number;
}

/**
 * Sandboxes that activators have reported and the stores do not show. Most of them were deleted: an answer may come late, and an
 * activator that begins anew reports all that it remembers. What is known of them would stay for ever, since each sandbox is deleted only
 * once. A few are so new that the watch has not shown them yet.
 */
export class UnseenSandboxes {
  readonly #exists: (key: string, uid: string) => boolean;
  readonly #forget: (uid: string) => void;
  /** By UID, the oldest first. */
  readonly #unseen = new Map<string, Unseen>();

  constructor(exists: (key: string, uid: string) => boolean, forget: (uid: string) => void) {
    this.#exists = exists;
    this.#forget = forget;
  }

  reported({ namespace, name, uid }: SandboxActivity["sandbox"], nowMs: number): void {
    const key = keyFor(namespace, name);
    if (this.#unseen.has(uid) || this.#exists(key, uid)) return;
    this.#unseen.set(uid, { key, sinceMs: nowMs });
  }

  /** Forgets those that have not appeared in time. */
  sweep(nowMs: number): void {
    for (const [uid, { key, sinceMs }] of this.#unseen) {
      if (nowMs - sinceMs < patienceMs) return;
      this.#unseen.delete(uid);
      if (!this.#exists(key, uid)) this.#forget(uid);
    }
  }
}
