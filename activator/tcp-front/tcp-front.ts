import type { Socket } from "node:net";
import type { ListeningAnswer, ListeningRequest } from "../../api/drain-protocol.ts";
import type { Stored } from "../../api/meta.ts";
import {
  addressesListedBy,
  type EndpointSlice,
  endpointSliceType,
  tcpFrontSelector,
  usualQuarantineMs,
} from "../../api/tcp-front.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Change, Informer } from "../../kube/informer.ts";
import { startInformer } from "../../kube/start-informer.ts";
import type { Clock } from "../../lib/clock.ts";
import { abortable, type Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import { adoptAccepted, adoptionOf, type WireSocket } from "../socket/wire-socket.ts";
import { confirm } from "./confirm.ts";
import { Listeners } from "./listeners.ts";
import { ourPortsNamedBy, type Standing, standingOf } from "./standings.ts";
import { earlyPlace, TcpClient } from "./tcp-client.ts";
import type { TcpFrontConfig } from "./tcp-front-config.ts";
import type { TcpMetrics } from "./tcp-metrics.ts";
import { VanishedPorts } from "./vanished-ports.ts";

export interface TcpFrontOptions extends TcpFrontConfig {
  /** What is above it is reset at once. */
  readonly maxConnections: number;
}

export interface TcpFrontParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly cluster: Pick<Cluster, "firstSeen">;
  readonly metrics: TcpMetrics;
  /** Whether the process may open another socket besides so many that listen. */
  readonly hasRoom: (besides: number) => boolean;
  /** Takes a connection; never rejects. */
  readonly serve: (client: TcpClient, standing: Standing) => Promise<void>;
}

/** Listens on the ports that slices say, as soon as those and the cluster are seen, and hands over what comes. */
export function startTcpFront(options: TcpFrontOptions, parts: TcpFrontParts): TcpFront {
  return new TcpFront(options, parts);
}

export class TcpFront implements Running {
  readonly failed: Promise<never>;
  readonly #options: TcpFrontOptions;
  readonly #parts: TcpFrontParts;
  readonly #listeners: Listeners;
  readonly #vanished: VanishedPorts;
  readonly #slices: Informer<EndpointSlice, "port" | "address">;
  readonly #clients = new Set<TcpClient>();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #stop = new AbortController();
  #active = 0;

  constructor(options: TcpFrontOptions, parts: TcpFrontParts) {
    this.#options = options;
    this.#parts = parts;
    const { client, clock, log, metrics } = parts;
    this.#vanished = new VanishedPorts(clock);
    this.#listeners = new Listeners({
      ...{ host: options.host, clock, log, onFailure: metrics.listenFailed },
      onConnection: (socket, standing) => this.#accept(socket, standing),
    });
    this.#slices = startInformer({
      ...{ client, clock, log, type: endpointSliceType },
      labelSelector: tcpFrontSelector,
      indexes: { port: (slice) => ourPortsNamedBy(slice).map(String), address: addressesListedBy },
    });
    this.failed = this.#slices.failed;
    this.#follow().catch(() => {}); // only disposal interrupts it
  }

  get listening(): number {
    return this.#listeners.size;
  }

  confirm(request: ListeningRequest): Promise<ListeningAnswer> {
    return confirm(request, this.#listeners, (port) => this.#vanished.rests(port), this.#parts.clock);
  }

  /** Resolves once no slice lists this replica any more, so that nobody new is sent here; at once where that cannot be known. */
  async unlisted(signal: AbortSignal): Promise<void> {
    const { podIp } = this.#options;
    if (podIp === undefined) return;
    const isListed = () => this.#slices.store.by("address", podIp).length > 0;
    const gone = Promise.withResolvers<void>();
    using _watching = this.#slices.onChange(() => isListed() || gone.resolve());
    if (isListed()) await abortable(gone.promise, signal).catch(() => {});
  }

  /** Accepts no more connections; those that were go on. */
  stopAccepting(): void {
    this.#stop.abort(new Error("the activator is leaving"));
    this.#listeners.close();
  }

  /** Resolves as soon as no connection is held or carried. */
  idle(): Promise<void> {
    if (this.#active === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopAccepting();
    // Cut, not ended: an end would look like the whole.
    for (const { socket } of this.#clients) socket.resetAndDestroy();
    await this.#slices[Symbol.asyncDispose]();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    await abortable(Promise.all([this.#parts.cluster.firstSeen, this.#slices.synced]), signal);
    this.#slices.onChange((change) => this.#sliceChanged(change));
    for (const slice of this.#slices.store.list()) this.#settle(ourPortsNamedBy(slice));
  }

  #sliceChanged({ previous, current }: Change<EndpointSlice>): void {
    if (previous) {
      const resting = this.#vanished.note(previous, (port) => this.#naming(port));
      if (resting.length > 0) this.#parts.clock.after(usualQuarantineMs, () => this.#settle(resting));
      this.#settle(ourPortsNamedBy(previous));
    }
    if (current) this.#settle(ourPortsNamedBy(current));
  }

  #settle(ports: readonly number[]): void {
    for (const port of ports) {
      const standing = standingOf(port, this.#naming(port));
      this.#listeners.want(port, standing && this.#vanished.rests(standing) ? undefined : standing);
    }
  }

  #naming(port: number): readonly Stored<EndpointSlice>[] {
    return this.#slices.store.by("port", String(port));
  }

  #accept(accepted: Socket, standing: Standing): void {
    const { clock, metrics, hasRoom } = this.#parts;
    const isFull = this.#active >= this.#options.maxConnections;
    if (isFull || !hasRoom(this.listening)) {
      metrics.refused(isFull ? "TooManyConnections" : "NoDescriptors");
      accepted.resetAndDestroy();
      return;
    }
    const clientOf = (socket: WireSocket) => {
      const client: TcpClient = new TcpClient(socket, { clock, onClosed: () => this.#clients.delete(client) });
      this.#clients.add(client);
      void this.#serve(client, standing);
      return client;
    };
    adoptAccepted(accepted, clientOf, adoptionOf(accepted), earlyPlace);
  }

  async #serve(client: TcpClient, standing: Standing): Promise<void> {
    this.#active += 1;
    try {
      await this.#parts.serve(client, standing);
    } finally {
      this.#active -= 1;
      if (this.#active === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
    }
  }
}
