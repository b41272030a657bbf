import { ClientGone } from "../request.ts";
import type { Upstream } from "./connector.ts";
import type { Destination, Errand } from "./errand.ts";
import { Wait } from "./wait.ts";
import { Waiter } from "./waiter.ts";

/** All waits that go on now: one for each port of a sandbox, however many wait for it. */
export class Waits {
  readonly #waits = new Map<string, Wait>();

  /**
   * Resolves with a connection on which this errand counts as sent.
   *
   * @throws ActivatorError when no place is left to wait in, or none will come in time; ClientGone when it is not
   * waited for any more.
   */
  join(errand: Errand): Promise<Upstream> {
    const { to, waiting, around, journey } = errand;
    if (waiting.left) throw new ClientGone("the client left");
    const slot = around.slots.admit(to.namespace, to.name);
    const uid = to.uid ?? around.cluster.sandbox(to.namespace, to.name)?.metadata.uid;
    const wait = this.#waitFor(to, uid, errand);
    const waiter = new Waiter(errand, wait, slot, journey.held());
    wait.join(waiter);
    return waiter.reached;
  }

  // All that a look depends on: who has the same is told the same.
  #waitFor(to: Destination, uid: string | undefined, { around }: Errand): Wait {
    const key = `${to.namespace}/${to.name} ${uid} ${to.port} ${to.podIp} ${to.byHost}`;
    const running = this.#waits.get(key);
    if (running) return running;
    const wait = new Wait(to, uid, around, () => this.#waits.delete(key));
    this.#waits.set(key, wait);
    return wait;
  }
}
