import { forEachYielding } from "../../lib/time/yielding.ts";
import type { Claims } from "../sandbox/claims.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import { type Domains, readHost } from "./host-name.ts";
import type { StoredName } from "./sandbox-of.ts";

export interface FirstListsDeps {
  readonly cluster: Pick<Cluster, "synced" | "firstSeen" | "sandbox">;
  readonly claims: Pick<Claims, "settled" | "firstSettled">;
}

/** Undefined: headers or the path name the sandbox, or nothing does. */
export function storedName(host: string, domains: Domains): StoredName | undefined {
  const meaning = readHost(host, domains);
  return meaning.is === "sandbox" || meaning.is === "service" ? meaning : undefined;
}

/** What is known before the first lists of sandboxes, Pods and claims, for every way in. */
export class FirstLists {
  readonly #deps: FirstListsDeps;
  /** One entry for each wait. */
  readonly #rechecks = new Set<() => void>();

  constructor(deps: FirstListsDeps) {
    this.#deps = deps;
    const recheckAll = () => forEachYielding(this.#rechecks, (recheck) => recheck());
    void deps.cluster.firstSeen.then(recheckAll);
    void deps.claims.firstSettled.then(recheckAll);
  }

  /** Whether claims are known, or will not be waited for. */
  get hasClaims(): boolean {
    return this.#deps.claims.settled;
  }

  /**
   * Whether it is known what a name leads to. A sandbox has its own name, and only sandboxes have names of Services: such a name needs
   * no claims, which may be unreadable for a long time.
   */
  isKnown(name: StoredName | undefined): boolean {
    const { cluster, claims } = this.#deps;
    if (!cluster.synced) return false;
    if (!name || name.is === "service" || claims.settled) return true;
    return cluster.sandbox(name.namespace, name.name) !== undefined;
  }

  /**
   * Calls `recheck` after each first list, in turns, until disposed of. No waiter adds a listener to the promises, which may never
   * resolve.
   */
  onList(recheck: () => void): Disposable {
    this.#rechecks.add(recheck);
    return { [Symbol.dispose]: () => void this.#rechecks.delete(recheck) };
  }
}
