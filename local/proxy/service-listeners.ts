import { type ProxiedConnections, ServiceListener } from "./service-listener.ts";
import type { ServiceRoute } from "./service-routes.ts";

/** A listener takes a file descriptor of this process, which others need too. */
const listenersMax = 2_000;

/** The listeners, by Service, address and port. */
export class ServiceListeners implements AsyncDisposable {
  readonly #connections: ProxiedConnections;
  readonly #max: number;
  readonly #byService = new Map<string, Map<string, ServiceListener>>();
  #size = 0;

  /** `max`: of all Services. */
  constructor(connections: ProxiedConnections, max: number = listenersMax) {
    this.#connections = connections;
    this.#max = max;
  }

  /**
   * Listens for exactly these routes of a Service.
   *
   * @throws Error with the reason why one of them has no listener; the others have.
   */
  async follow(serviceKey: string, routes: readonly ServiceRoute[]): Promise<void> {
    const open = this.#byService.get(serviceKey) ?? new Map<string, ServiceListener>();
    const wanted = new Map(routes.map((route) => [`${route.address}:${route.port}`, route]));
    for (const [place, listener] of open) {
      if (wanted.has(place)) continue;
      open.delete(place);
      this.#size -= 1;
      await listener[Symbol.asyncDispose]();
    }
    const refusals: Error[] = [];
    for (const [place, route] of wanted) {
      const listener = open.get(place);
      if (listener) listener.leadTo(route.targets);
      else if (this.#size >= this.#max) {
        refusals.push(new Error(`cannot listen on ${place}: ${this.#max} ports of Services have a listener already`));
      } else {
        await ServiceListener.open(this.#connections, route).then(
          (opened) => {
            open.set(place, opened);
            this.#size += 1;
          },
          (cause: unknown) => refusals.push(new Error(whyNot(place, route, cause), { cause })),
        );
      }
    }
    if (open.size > 0) this.#byService.set(serviceKey, open);
    else this.#byService.delete(serviceKey);
    const [refusal] = refusals;
    if (refusal) throw refusal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const serviceKey of [...this.#byService.keys()]) await this.follow(serviceKey, []);
  }
}

/** The remedy for the user. */
function whyNot(place: string, { address }: ServiceRoute, cause: unknown): string {
  switch ((cause as NodeJS.ErrnoException).code) {
    case "EADDRNOTAVAIL":
      return `cannot listen on ${place}: this system does not have the address; on macOS, add it with "sudo ifconfig lo0 alias ${address}"`;
    case "EACCES":
      return `cannot listen on ${place}: on this system only root may use a port this low`;
    case "EADDRINUSE":
      return `cannot listen on ${place}: another program uses this port, on this address or on all`;
    default:
      return `cannot listen on ${place}`;
  }
}
