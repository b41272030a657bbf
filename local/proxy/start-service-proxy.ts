import { firstFailure, type Running } from "../../lib/process/lifecycle.ts";
import { KeyedQueue } from "../../lib/queues/keyed-queue.ts";
import { startWorkers } from "../../lib/queues/workers.ts";
import { ProxiedConnections } from "./service-listener.ts";
import { ServiceListeners } from "./service-listeners.ts";
import { type ServiceViewOptions, startServiceView } from "./service-view.ts";

export interface ServiceProxyOptions extends ServiceViewOptions {
  /** The maximum number of concurrent connections, of all Services together; more are reset. */
  readonly connectionsMax?: number;
}

export interface ServiceProxy extends Running {
  /** Resolves when every Service that existed at the start is known. */
  readonly synced: Promise<void>;
}

const connectionsMaxByDefault = 10_000;
/** An address may be configured, or a port released, between attempts. */
const backoff = { baseMs: 50, maxMs: 30_000, jitter: 0.2 };

/**
 * Replaces kube-proxy on this machine: listens on the address and TCP ports of every Service that has an address, and
 * proxies each connection to a ready endpoint of the Service's EndpointSlices. A port without endpoints has no
 * listener, so its connections are refused. A Service with a selector has no slices here; its connections go to the
 * Pods themselves.
 */
export function startServiceProxy(options: ServiceProxyOptions): ServiceProxy {
  const { client, clock, log, connectionsMax = connectionsMaxByDefault } = options;
  const queue = new KeyedQueue(clock, backoff);
  const view = startServiceView({ client, clock, log }, (serviceKey) => queue.add(serviceKey));
  const connections = new ProxiedConnections(clock, connectionsMax);
  const listeners = new ServiceListeners(connections);
  const workers = startWorkers({
    name: "the proxy of Services",
    queue,
    workers: 1,
    async reconcile(key) {
      await listeners.follow(key, view.routesTo(key));
      return {};
    },
    onFailure: (key, error) => {
      // Retried while the Service exists, and logged once.
      if (queue.failures(key) === 0) log.warn({ err: error, service: key }, "cannot listen for a Service; retrying");
    },
  });
  return {
    synced: view.synced,
    failed: firstFailure(view, workers),
    async [Symbol.asyncDispose]() {
      await workers[Symbol.asyncDispose]();
      await view[Symbol.asyncDispose]();
      await listeners[Symbol.asyncDispose]();
      connections[Symbol.dispose]();
    },
  };
}
