import { ownText } from "../../lib/data/own-text.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** The label of unknown namespaces and of those beyond the limit. No namespace has this name. */
export const noNamespace = "-";

/** The maximum number of namespaces with series of their own. Beyond it, later namespaces share `-`. */
const namespacesMax = 1_000;
/** A namespace without a sandbox for this long loses its series, in milliseconds: a scrape must have had time to read them. */
const keptForMs = 3_600_000;

export interface NamespaceLabelsOptions {
  readonly clock: Clock;
  readonly hasSandboxes: (namespace: string) => boolean;
}

/**
 * Chooses the namespaces that have series of their own. Tenants come and go, and without removal every scrape would contain
 * their series as long as the process runs.
 */
export class NamespaceLabels {
  readonly #options: NamespaceLabelsOptions;
  /** Monotonic milliseconds when each namespace was last seen with a sandbox. */
  readonly #seenMs = new Map<string, number>();
  readonly #dropped: ((namespace: string) => void)[] = [];

  constructor(options: NamespaceLabelsOptions) {
    this.#options = options;
  }

  /** Calls back with each namespace whose series must be removed. */
  onDropped(listener: (namespace: string) => void): void {
    this.#dropped.push(listener);
  }

  /** The label of a namespace that has a sandbox now. */
  of(namespace: string): string {
    if (namespace === noNamespace || this.#seenMs.has(namespace)) return namespace;
    if (this.#seenMs.size >= namespacesMax) return noNamespace;
    const own = ownText(namespace);
    this.#seenMs.set(own, this.#options.clock.ticksMs());
    return own;
  }

  /** Call it before each scrape. */
  dropGone(): void {
    const nowMs = this.#options.clock.ticksMs();
    for (const [namespace, seenMs] of this.#seenMs) {
      if (this.#options.hasSandboxes(namespace)) this.#seenMs.set(namespace, nowMs);
      else if (nowMs - seenMs >= keptForMs) this.#drop(namespace);
    }
  }

  #drop(namespace: string): void {
    this.#seenMs.delete(namespace);
    for (const listener of this.#dropped) listener(namespace);
  }
}
