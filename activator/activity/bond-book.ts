import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { type Bonds, sealOf } from "../../api/suspension.ts";

interface Entry {
  toldGeneration: number;
  readonly forsworn: Set<string>;
  /** The Pod that was seen gone last: a seal that still names it asks for nothing more. */
  gonePodUid: string | undefined;
}

const unbound: Bonds = { toldGeneration: 0, forsworn: new Set() };

/**
 * What this activator is bound by, sandbox by sandbox (`api/suspension.ts`). A promise outlives the seal, for a view of the
 * cluster may be older than both; it ends when its Pod, or the sandbox, has been seen gone.
 */
export class BondBook {
  readonly #entries = new Map<string, Entry>();
  readonly #onForsworn: (sandboxUid: string, podUid: string) => void;

  /** `onForsworn` hears of every Pod once, in the same synchronous step. */
  constructor(onForsworn: (sandboxUid: string, podUid: string) => void) {
    this.#onForsworn = onForsworn;
  }

  of(sandboxUid: string): Bonds {
    return this.#entries.get(sandboxUid) ?? unbound;
  }

  /** The controller says that a generation is a suspension; it is no news where that one has been seen. */
  told(sandboxUid: string, generation: number, seenGeneration: number): void {
    if (seenGeneration >= generation) return;
    const entry = this.#entryOf(sandboxUid);
    entry.toldGeneration = Math.max(entry.toldGeneration, generation);
  }

  /** Never again to that Pod. */
  forswear(sandboxUid: string, podUid: string): void {
    const entry = this.#entryOf(sandboxUid);
    if (entry.gonePodUid === podUid || entry.forsworn.has(podUid)) return;
    entry.forsworn.add(podUid);
    this.#onForsworn(sandboxUid, podUid);
  }

  /** A version of a sandbox came into view, by a list, a watch or the answer to a patch: a seal on it is a promise. */
  sandboxSeen(sandbox: Stored<Sandbox>): void {
    const { uid, generation = 0 } = sandbox.metadata;
    const seal = sealOf(sandbox);
    if (seal) this.forswear(uid, seal.podUid);
    const entry = this.#entries.get(uid);
    if (!entry) return;
    if (generation >= entry.toldGeneration) entry.toldGeneration = 0;
  }

  podGone(sandboxUid: string, podUid: string): void {
    const entry = this.#entries.get(sandboxUid);
    if (!entry) return;
    entry.forsworn.delete(podUid);
    entry.gonePodUid = podUid;
  }

  sandboxGone(sandboxUid: string): void {
    this.#entries.delete(sandboxUid);
  }

  #entryOf(sandboxUid: string): Entry {
    const known = this.#entries.get(sandboxUid);
    if (known) return known;
    const entry: Entry = { toldGeneration: 0, forsworn: new Set(), gonePodUid: undefined };
    this.#entries.set(sandboxUid, entry);
    return entry;
  }
}
