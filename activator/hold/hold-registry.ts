import { KeyCounts } from "../../lib/queues/key-counts.ts";
import type { ConnectRequest, Destination } from "../connect/connect-request.ts";
import type { Upstream } from "../connect/connector.ts";
import { slotsOf } from "../connect/held-slots.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import { ClientGone } from "../request.ts";
import { HeldRequest } from "./held-request.ts";
import { SandboxHold } from "./sandbox-hold.ts";

/**
 * The number of ports of one sandbox, and addresses of its Pod, that requests wait for at once. Clients name both, and each
 * change of the sandbox is checked once for each of these holds. Outsiders have as many of their own.
 */
export const holdsPerSandbox = 32;

/** All current holds: one for each port of a sandbox, whatever the number of requests. */
export class HoldRegistry {
  readonly #waits = new Map<string, SandboxHold>();
  /** The number of holds of each sandbox that outsiders began, and that others began, by namespace and name. */
  readonly #ofOutsiders = new KeyCounts();
  readonly #ofOthers = new KeyCounts();

  /**
   * Resolves with a connection on which the use of this connect request is marked as sent.
   *
   * @throws ActivatorError if no slot is free or no connection comes in time; ClientGone if the client left.
   */
  join(connectRequest: ConnectRequest): Promise<Upstream> {
    const { to, client, deps, observer } = connectRequest;
    if (client.left) throw new ClientGone("the client left");
    const uid = to.uid ?? deps.cluster.sandbox(to.namespace, to.name)?.metadata.uid;
    // Everything that the resolution depends on: equal keys get equal answers.
    const key = `${to.namespace}/${to.name} ${uid} ${to.port} ${to.podIp} ${to.byHost} ${to.byUid}`;
    const running = this.#waits.get(key);
    if (!running && this.#countsFor(connectRequest).of(`${to.namespace}/${to.name}`) >= holdsPerSandbox) {
      throw new ActivatorError("HoldLimitReached");
    }
    let waiter: HeldRequest | undefined;
    const slot = slotsOf(connectRequest, (error) => waiter?.end(error));
    const wait = running ?? this.#begin(key, to, uid, connectRequest);
    waiter = new HeldRequest(connectRequest, wait, slot, observer.held());
    wait.join(waiter);
    return waiter.reached;
  }

  #countsFor({ isOutsider }: Pick<ConnectRequest, "isOutsider">): KeyCounts {
    return isOutsider ? this.#ofOutsiders : this.#ofOthers;
  }

  #begin(key: string, to: Destination, uid: string | undefined, connectRequest: ConnectRequest): SandboxHold {
    const counts = this.#countsFor(connectRequest);
    const counted = `${to.namespace}/${to.name}`;
    const wait = new SandboxHold(to, uid, connectRequest.deps, () => {
      this.#waits.delete(key);
      counts.remove(counted);
    });
    this.#waits.set(key, wait);
    counts.add(counted);
    return wait;
  }
}
