import { type CarriedConnections, ServiceListener } from "./service-listener.ts";
import type { ServiceRoute } from "./service-routes.ts";

/** What is listened on now, by Service, address and port. */
export class ServiceListeners implements AsyncDisposable {
  readonly #carried: CarriedConnections;
  readonly #byService = new Map<string, Map<string, ServiceListener>>();

  constructor(carried: CarriedConnections) {
    this.#carried = carried;
  }

  /**
   * Listens for these routes of a Service and for no others.
   *
   * @throws Error that says why one of them cannot be listened for; the others are.
   */
  async follow(serviceKey: string, routes: readonly ServiceRoute[]): Promise<void> {
    const open = this.#byService.get(serviceKey) ?? new Map<string, ServiceListener>();
    const wanted = new Map(routes.map((route) => [`${route.address}:${route.port}`, route]));
    for (const [place, listener] of open) {
      if (wanted.has(place)) continue;
      open.delete(place);
      await listener[Symbol.asyncDispose]();
    }
    const refusals: Error[] = [];
    for (const [place, route] of wanted) {
      const listener = open.get(place);
      if (listener) listener.leadTo(route.targets);
      else {
        await ServiceListener.open(this.#carried, route).then(
          (opened) => open.set(place, opened),
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

/** What a person can do about it. */
function whyNot(place: string, { address }: ServiceRoute, cause: unknown): string {
  switch ((cause as NodeJS.ErrnoException).code) {
    case "EADDRNOTAVAIL":
      return `cannot listen on ${place}: this system has no such address; on macOS "sudo ifconfig lo0 alias ${address}" sets it up`;
    case "EACCES":
      return `cannot listen on ${place}: ports as low as this one are for root alone on this system`;
    case "EADDRINUSE":
      return `cannot listen on ${place}: another program has this port, on this or on every address`;
    default:
      return `cannot listen on ${place}`;
  }
}
