import type { Socket } from "node:net";
import type { ListeningAnswer, ListeningRequest } from "../../api/between-programs/drain-protocol.ts";
import {
  addressesListedBy,
  type EndpointSlice,
  endpointSliceType,
  portsNamedBy,
  tcpFrontSelector,
} from "../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Change, Informer } from "../../kube/informer/informer.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { TurnoverSet } from "../../lib/data/turnover.ts";
import { runGuarded } from "../../lib/guard/guard.ts";
import type { Logger } from "../../lib/log/log.ts";
import { IdleWaiters } from "../../lib/process/idle-waiters.ts";
import { abortable, type Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { type Front, lastClosesMs } from "../front.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { Introduction } from "../socket/proxy-protocol/awaited-header.ts";
import type { HeaderGate, OpenGate } from "../socket/proxy-protocol/header-gate.ts";
import { resetSocket } from "../socket/reset-socket.ts";
import { adoptAccepted, adoptionOf, cutConnection, type WireSocket } from "../socket/wire-socket.ts";
import { confirm } from "./confirm.ts";
import { earlyPlace, TcpClient } from "./connection/tcp-client.ts";
import type { TcpMetrics } from "./connection/tcp-metrics.ts";
import { Listeners } from "./listeners.ts";
import { NamespacePorts } from "./ports/namespace-ports.ts";
import { type PortBinding, portBindingOf } from "./ports/port-bindings.ts";
import { PortKeepers } from "./ports/port-keepers.ts";
import { QuarantinedPorts } from "./ports/quarantined-ports.ts";
import type { TcpFrontConfig } from "./tcp-front-config.ts";

export interface TcpFrontOptions extends TcpFrontConfig {
  /** Connections beyond this are reset at once. */
  readonly maxConnections: number;
}

export interface TcpFrontParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly cluster: Pick<Cluster, "firstSeen">;
  readonly metrics: TcpMetrics;
  /** Whether the process may open another socket, besides that many listeners. */
  readonly hasRoom: (besides: number) => boolean;
  /** Absent: no connection begins with a PROXY header. */
  readonly openGate?: OpenGate | undefined;
  /** Serves a connection; never rejects. */
  readonly serve: (client: TcpClient, binding: PortBinding) => Promise<void>;
}

/** Listens on the ports in slices, once slices and the cluster are synced, and passes accepted connections on. */
export function startTcpFront(options: TcpFrontOptions, parts: TcpFrontParts): TcpFront {
  return new TcpFront(options, parts);
}

const always = (): boolean => true;

export class TcpFront implements Front, Running {
  readonly failed: Promise<never>;
  readonly #options: TcpFrontOptions;
  readonly #parts: TcpFrontParts;
  readonly #listeners: Listeners;
  readonly #vanished: QuarantinedPorts;
  readonly #ofNamespace = new NamespacePorts();
  readonly #keepers = new PortKeepers(this.#ofNamespace);
  readonly #slices: Informer<EndpointSlice, "port" | "address">;
  /** Every open connection; the socket's close removes it. */
  readonly #open = new TurnoverSet<WireSocket>();
  readonly #gate: HeaderGate | undefined;
  readonly #idleWaiters = new IdleWaiters(() => this.#active === 0 && !this.#gate?.size);
  readonly #stop = new AbortController();
  #active = 0;
  #isFollowing = false;

  constructor(options: TcpFrontOptions, parts: TcpFrontParts) {
    this.#options = options;
    this.#parts = parts;
    const { client, clock, log, metrics } = parts;
    this.#gate = parts.openGate?.("tcp", () => this.#idleWaiters.ended());
    this.#vanished = new QuarantinedPorts(clock, this.#ofNamespace, (ports) => this.#settle(ports));
    this.#listeners = new Listeners({
      ...{ host: options.host, clock, log, onFailure: metrics.listenFailed },
      onConnection: (socket, binding) => this.#accept(socket, binding),
    });
    this.#slices = startInformer({
      ...{ client, clock, log, type: endpointSliceType },
      labelSelector: tcpFrontSelector,
      indexes: { port: (slice) => [...portsNamedBy(slice)].map(String), address: addressesListedBy },
    });
    this.failed = this.#slices.failed;
    this.#follow().catch(() => {}); // it rejects by disposal alone
  }

  get listening(): number {
    return this.#listeners.size;
  }

  confirm(request: ListeningRequest): Promise<ListeningAnswer> {
    // The namespace of a port may have room for it by now.
    if (this.#isFollowing) this.#settle(request.ports.map(({ activatorPort }) => activatorPort));
    return confirm(request, this.#listeners, (port) => this.#vanished.rests(port), this.#parts.clock);
  }

  /** Resolves once no slice lists this replica, so that no new client is sent here; at once if that cannot be known. */
  async unlisted(signal: AbortSignal): Promise<void> {
    const { podIp } = this.#options;
    if (podIp === undefined) return;
    const isListed = () => this.#slices.store.by("address", podIp).length > 0;
    const gone = Promise.withResolvers<void>();
    using _watching = this.#slices.onChange(() => isListed() || gone.resolve());
    if (isListed()) await abortable(gone.promise, signal).catch(() => {});
  }

  /** Stops accepting. Accepted connections continue. */
  stopAccepting(): void {
    this.#stop.abort(new Error("the activator is shutting down"));
    this.#listeners.close();
    this.#vanished[Symbol.dispose]();
    this.#gate?.finish();
  }

  /** Resolves once no connection is held or proxied. */
  idle(): Promise<void> {
    return this.#idleWaiters.untilIdle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopAccepting();
    this.#gate?.cutAll();
    // Reset, not ended: an end would mark it as complete.
    for (const socket of this.#open) cutConnection(socket);
    await this.#idleWaiters.untilIdleWithin(lastClosesMs, this.#parts.clock);
    await this.#slices[Symbol.asyncDispose]();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    await abortable(Promise.all([this.#parts.cluster.firstSeen, this.#slices.synced]), signal);
    this.#isFollowing = true;
    this.#slices.onChange((change) => this.#sliceChanged(change));
    // What a controller gave before stays, also under a former limit that was higher.
    for (const slice of this.#slices.store.list()) this.#settle(portsNamedBy(slice), always);
  }

  #sliceChanged({ previous, current }: Change<EndpointSlice>): void {
    if (previous) {
      const { uid } = previous.metadata;
      const namesNoMore = (port: number) => !this.#naming(port).some(({ metadata }) => metadata.uid === uid);
      const hasLost = (port: number) => this.#keepers.has(port, previous) && namesNoMore(port);
      this.#vanished.note(previous, hasLost);
      this.#settle(portsNamedBy(previous));
    }
    if (current) this.#settle(portsNamedBy(current));
  }

  #settle(ports: Iterable<number>, hasRoom = this.#hasRoom): void {
    for (const port of ports) {
      const mayHave = (namespace: string) => hasRoom(port, namespace);
      const binding = portBindingOf(port, this.#keepers.choose(port, this.#naming(port), mayHave));
      this.#listeners.want(port, binding && this.#vanished.rests(binding) ? undefined : binding);
    }
  }

  readonly #hasRoom = (port: number, namespace: string): boolean => this.#ofNamespace.hasRoom(port, namespace);

  #naming(port: number): readonly Stored<EndpointSlice>[] {
    return this.#slices.store.by("port", String(port));
  }

  #accept(accepted: Socket, binding: PortBinding): void {
    const { clock, metrics, hasRoom } = this.#parts;
    const isFull = this.#active + (this.#gate?.size ?? 0) >= this.#options.maxConnections;
    if (isFull || !hasRoom(this.listening)) {
      metrics.refused(isFull ? "TooManyConnections" : "NoDescriptors");
      resetSocket(accepted);
      return;
    }
    const clientOf = (socket: WireSocket, introduction?: Introduction) => {
      this.#open.add(socket);
      socket.once("close", () => this.#open.delete(socket));
      const client = new TcpClient(socket, clock, { introduction });
      runGuarded(
        "tcp-front",
        () => this.#serve(client, binding),
        () => client.refuse(),
      );
      return client;
    };
    const readerOf = (socket: WireSocket) =>
      this.#gate?.expects(socket)
        ? this.#gate.readerOf(socket, (introduction) => clientOf(socket, introduction))
        : clientOf(socket);
    adoptAccepted(accepted, readerOf, adoptionOf(accepted), earlyPlace);
  }

  async #serve(client: TcpClient, binding: PortBinding): Promise<void> {
    this.#active += 1;
    try {
      await this.#parts.serve(client, binding);
    } finally {
      this.#active -= 1;
      this.#idleWaiters.ended();
    }
  }
}
