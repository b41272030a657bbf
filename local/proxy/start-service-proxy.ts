import { serviceType } from "../../api/core.ts";
import { keyFor } from "../../api/meta.ts";
import { type EndpointSlice, endpointSliceType, serviceNameLabel } from "../../api/tcp-front.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Informer } from "../../kube/informer.ts";
import { startInformer } from "../../kube/start-informer.ts";
import type { Clock } from "../../lib/clock.ts";
import { KeyedQueue } from "../../lib/keyed-queue.ts";
import type { Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { startWorkers } from "../../lib/workers.ts";
import { CarriedConnections, ServiceListener } from "./service-listener.ts";
import { routesOf, type ServiceRoute } from "./service-routes.ts";

export interface ServiceProxyOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** How many connections are carried at once, through all Services together; more are reset. */
  readonly connectionsMax?: number;
}

export interface ServiceProxy extends Running {
  /** Resolves when every Service that was there at the start is known. */
  readonly synced: Promise<void>;
}

const connectionsMaxByDefault = 10_000;
/** An address may be set up, or a port given back, while we try. */
const backoff = { baseMs: 50, maxMs: 30_000, jitter: 0.2 };

type Slices = Informer<EndpointSlice, "service">;

/**
 * Plays kube-proxy for this machine: listens on the address and TCP ports of every Service that has an address, and leads
 * each connection to what the Service's EndpointSlices list as ready. Nobody listens for a port with nothing behind it, so
 * that who connects is refused. Slices are written by others: a Service with a selector gets none here.
 */
export function startServiceProxy(options: ServiceProxyOptions): ServiceProxy {
  const { client, clock, log, connectionsMax = connectionsMaxByDefault } = options;
  const services = startInformer({ client, type: serviceType, indexes: {}, clock, log });
  const slices: Slices = startInformer({
    client,
    type: endpointSliceType,
    labelSelector: serviceNameLabel,
    indexes: { service: (slice) => [serviceKeyOf(slice)] },
    clock,
    log,
  });
  const carried = new CarriedConnections(clock, connectionsMax);
  const listeners = new ServiceListeners(carried);
  const queue = new KeyedQueue(clock, backoff);
  const changes = new DisposableStack();
  changes.use(services.onChange(({ key }) => queue.add(key)));
  changes.use(
    slices.onChange(({ previous, current }) => {
      for (const slice of [previous, current]) if (slice) queue.add(serviceKeyOf(slice));
    }),
  );
  const workers = startWorkers({
    name: "the proxy of Services",
    queue,
    workers: 1,
    async reconcile(key) {
      const service = services.store.get(key);
      await listeners.follow(key, service ? routesOf(service, slices.store.by("service", key)) : []);
      return {};
    },
    onFailure: (key, error) => {
      // Tried again for as long as the Service is there, and told once.
      if (queue.failures(key) === 0) log.warn({ err: error, service: key }, "a Service cannot be reached here");
    },
  });
  return {
    synced: Promise.all([services.synced, slices.synced]).then(() => {}),
    failed: Promise.race([services.failed, slices.failed, workers.failed]),
    async [Symbol.asyncDispose]() {
      changes.dispose();
      await workers[Symbol.asyncDispose]();
      await Promise.all([services, slices, listeners].map((part) => part[Symbol.asyncDispose]()));
      carried[Symbol.dispose]();
    },
  };
}

const serviceKeyOf = ({ metadata }: EndpointSlice): string =>
  keyFor(metadata.namespace, metadata.labels?.[serviceNameLabel] ?? "");

/** What is listened on now, by Service, address and port. */
class ServiceListeners implements AsyncDisposable {
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
