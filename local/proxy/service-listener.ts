import { createServer, type Server, type Socket } from "node:net";
import { BufferLoans, ReadPlace } from "../../activator/socket/read-place.ts";
import { RelaySide, relay } from "../../activator/socket/relay.ts";
import { resetSocket } from "../../activator/socket/reset-socket.ts";
import { adoptAccepted, newSocket, plainAcceptedSocket, type WireSocket } from "../../activator/socket/wire-socket.ts";
import { guarded } from "../../lib/guard/guard.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { ServiceRoute, Target } from "./service-routes.ts";

/** Targets are on this machine: a target that has not answered by then never will. */
const connectWithinMs = 5_000;
const ownBuffersMax = 64;

/** The proxied connections of all Services, and their limit. */
export class ProxiedConnections implements Disposable {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #loans = new BufferLoans(ownBuffersMax);
  readonly #open = new Set<WireSocket>();

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Proxies one accepted connection to a target. A connection beyond the limit, or whose target fails, is reset. */
  proxy(accepted: Socket, { host, port }: Target): void {
    if (this.#open.size >= this.#max) {
      resetSocket(accepted);
      return;
    }
    const outgoing = newSocket();
    const near = adoptAccepted(
      accepted,
      (incoming) => new RelaySide(incoming, outgoing, new ReadPlace(this.#loans, incoming)),
    );
    this.#open.add(near);
    near.once("close", () => this.#open.delete(near));
    this.#limitConnect(outgoing);
    try {
      outgoing.connect({ host, port });
    } catch (cause) {
      outgoing.destroy(new Error(`cannot connect to ${host}:${port}`, { cause }));
    }
    relay(near, outgoing, this.#loans);
  }

  /** Ends all connections. */
  [Symbol.dispose](): void {
    for (const socket of this.#open) socket.reset();
  }

  #limitConnect(outgoing: WireSocket): void {
    const timer = this.#clock.after(connectWithinMs, () => outgoing.destroy(new Error("the target does not answer")));
    outgoing.once("connect", () => timer.cancel()).once("close", () => timer.cancel());
  }
}

/** One address and port of a Service with a listener. Closing it ends no connection, as with kube-proxy. */
export class ServiceListener implements AsyncDisposable {
  readonly #server: Server;
  readonly #connections: ProxiedConnections;
  #targets: readonly Target[];

  private constructor(connections: ProxiedConnections, { targets }: ServiceRoute) {
    this.#connections = connections;
    this.#targets = targets;
    const accept = (accepted: Socket) => this.#accept(accepted);
    this.#server = createServer(plainAcceptedSocket, guarded("service-proxy", accept, resetSocket));
  }

  /** @throws Error as listening fails: `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`. */
  static async open(connections: ProxiedConnections, route: ServiceRoute): Promise<ServiceListener> {
    const listener = new ServiceListener(connections, route);
    await new Promise<void>((resolve, reject) => {
      listener.#server.on("error", reject).listen(route.port, route.address, resolve);
    });
    return listener;
  }

  /** Sets the targets of new connections. */
  leadTo(targets: readonly Target[]): void {
    this.#targets = targets;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The callback comes after the last connection has ended, so it is not awaited.
    this.#server.close();
  }

  #accept(accepted: Socket): void {
    const target = this.#targets[Math.floor(Math.random() * this.#targets.length)];
    if (target) this.#connections.proxy(accepted, target);
    else resetSocket(accepted);
  }
}
