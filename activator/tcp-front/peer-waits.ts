import { runGuarded } from "../../lib/guard/guard.ts";
import { abortable } from "../../lib/process/lifecycle.ts";
import { KeyCounts } from "../../lib/queues/key-counts.ts";
import { forEachYielding } from "../../lib/time/yielding.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { TcpDestination } from "./connection/tcp-destination.ts";

type Watched = Pick<Cluster, "listen" | "listenAt">;

/** The number of sandboxes that connections of one address wait for at once. */
export const waitsPerPeer = 32;

/**
 * The waits of connections whose address is not admitted yet: one for each address and sandbox, whatever the number of
 * connections, so that a change of a Pod or of a sandbox is checked once for all of them.
 */
export class PeerWaits {
  readonly #cluster: Watched;
  readonly #waits = new Map<string, PeerWait>();
  readonly #counts = new KeyCounts();

  constructor(cluster: Watched) {
    this.#cluster = cluster;
  }

  /**
   * Calls back once `isAdmitted` is true; disposing ends the wait. Undefined: the address waits for too many sandboxes.
   * Connections of one address to one sandbox share the `isAdmitted` of the first.
   */
  join(peer: string, to: TcpDestination, isAdmitted: () => boolean, onAdmitted: () => void): Disposable | undefined {
    const key = `${peer} ${to.namespace}/${to.sandboxName} ${to.sandboxUid}`;
    const running = this.#waits.get(key);
    if (running) return running.join(onAdmitted);
    if (this.#counts.of(peer) >= waitsPerPeer) return undefined;
    const wait = new PeerWait(() => {
      if (this.#waits.get(key) !== wait) return;
      this.#waits.delete(key);
      this.#counts.remove(peer);
    });
    this.#waits.set(key, wait);
    this.#counts.add(peer);
    const joined = wait.join(onAdmitted);
    runGuarded("wake", () => wait.run(peer, to, isAdmitted, this.#cluster));
    return joined;
  }
}

class PeerWait {
  readonly #waiting = new Set<() => void>();
  readonly #over = new AbortController();
  readonly #onOver: () => void;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  join(onAdmitted: () => void): Disposable {
    this.#waiting.add(onAdmitted);
    return {
      [Symbol.dispose]: () => {
        this.#waiting.delete(onAdmitted);
        if (this.#waiting.size === 0) this.#end();
      },
    };
  }

  async run(peer: string, to: TcpDestination, isAdmitted: () => boolean, cluster: Watched): Promise<void> {
    using ofPeer = cluster.listenAt(peer);
    using ofSandbox = cluster.listen(to.namespace, to.sandboxName);
    const { signal } = this.#over;
    while (!signal.aborted) {
      ofPeer.reset();
      ofSandbox.reset();
      if (isAdmitted()) break;
      await abortable(Promise.race([ofPeer.next(), ofSandbox.next()]), signal).catch(() => {});
    }
    this.#end();
    await forEachYielding(this.#waiting, (onAdmitted) => onAdmitted());
  }

  /** New connections start a wait of their own. */
  #end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort(new Error("no connection waits any more"));
    this.#onOver();
  }
}
