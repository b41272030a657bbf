import { KeyCounts } from "../../lib/queues/key-counts.ts";
import type { ConnectDeps, Destination } from "../connect/connect-request.ts";
import type { Incoming } from "../request.ts";
import { untilAppears } from "./until-appears.ts";

/** How many requests wait so at a time. Further ones are rejected at once. */
const waitingMax = 1_000;
/** Of these, for one namespace: programs that request unknown names leave room for new sandboxes elsewhere. */
const ofNamespaceMax = 250;
/** Of these, from one client address, since a client can invent namespaces. Clients behind one load balancer share this. */
const ofAddressMax = 500;

/** A request that waits, with the address of its client. */
type WaitingClient = Pick<Incoming, "left" | "onLeave"> & { readonly head: Pick<Incoming["head"], "peer"> };

/**
 * Waits for sandboxes that were created a moment ago. A client may have created one, or seen it Ready by a watch of its own, before
 * our watch reports it, and the SDKs of this ecosystem do not retry.
 */
export class NewSandboxes {
  readonly #deps: Pick<ConnectDeps, "cluster" | "clock">;
  #waiting = 0;
  readonly #ofNamespace = new KeyCounts();
  readonly #ofAddress = new KeyCounts();

  constructor(deps: Pick<ConnectDeps, "cluster" | "clock">) {
    this.#deps = deps;
  }

  /** Resolves when the sandbox appears, the time is up or the client has left; undefined: no wait is needed. */
  arrival(to: Pick<Destination, "namespace" | "name">, client: WaitingClient): Promise<void> | undefined {
    const { cluster } = this.#deps;
    if (cluster.sandbox(to.namespace, to.name) || !cluster.synced) return undefined;
    const hasRoom =
      this.#waiting < waitingMax &&
      this.#ofNamespace.of(to.namespace) < ofNamespaceMax &&
      this.#ofAddress.of(client.head.peer) < ofAddressMax;
    return hasRoom ? this.#wait(to, client) : undefined;
  }

  async #wait({ namespace, name }: Pick<Destination, "namespace" | "name">, client: WaitingClient): Promise<void> {
    const { cluster } = this.#deps;
    this.#waiting += 1;
    this.#ofNamespace.add(namespace);
    this.#ofAddress.add(client.head.peer);
    await untilAppears({ namespace, name }, client, this.#deps, () => cluster.sandbox(namespace, name) !== undefined);
    this.#waiting -= 1;
    this.#ofNamespace.remove(namespace);
    this.#ofAddress.remove(client.head.peer);
    client.onLeave(undefined);
  }
}
