import { KeyedQueue } from "../../lib/keyed-queue.ts";
import { firstFailure, type Running } from "../../lib/lifecycle.ts";
import { startWorkers } from "../../lib/workers.ts";
import { CarriedConnections } from "./service-listener.ts";
import { ServiceListeners } from "./service-listeners.ts";
import { type ServiceViewOptions, startServiceView } from "./service-view.ts";

export interface ServiceProxyOptions extends ServiceViewOptions {
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

/**
 * Plays kube-proxy for this machine: listens on the address and TCP ports of every Service that has an address, and leads
 * each connection to what the Service's EndpointSlices list as ready. Nobody listens for a port with nothing behind it, so
 * that who connects is refused. Nobody writes the slices of a Service with a selector here; it leads to the Pods themselves.
 */
export function startServiceProxy(options: ServiceProxyOptions): ServiceProxy {
  const { client, clock, log, connectionsMax = connectionsMaxByDefault } = options;
  const queue = new KeyedQueue(clock, backoff);
  const view = startServiceView({ client, clock, log }, (serviceKey) => queue.add(serviceKey));
  const carried = new CarriedConnections(clock, connectionsMax);
  const listeners = new ServiceListeners(carried);
  const workers = startWorkers({
    name: "the proxy of Services",
    queue,
    workers: 1,
    async reconcile(key) {
      await listeners.follow(key, view.routesTo(key));
      return {};
    },
    onFailure: (key, error) => {
      // Tried again for as long as the Service is there, and told once.
      if (queue.failures(key) === 0) log.warn({ err: error, service: key }, "a Service cannot be reached here");
    },
  });
  return {
    synced: view.synced,
    failed: firstFailure(view, workers),
    async [Symbol.asyncDispose]() {
      await workers[Symbol.asyncDispose]();
      await view[Symbol.asyncDispose]();
      await listeners[Symbol.asyncDispose]();
      carried[Symbol.dispose]();
    },
  };
}
