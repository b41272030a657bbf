import { createServer, type Server, type Socket } from "node:net";
import { BufferLoans } from "../../activator/socket/read-place.ts";
import { RelaySide, relay } from "../../activator/socket/relay.ts";
import { adoptAccepted, newSocket, plainAcceptedSocket, type WireSocket } from "../../activator/socket/wire-socket.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ServiceRoute, Target } from "./service-routes.ts";

/** Targets are on this machine: one that has not answered by then never will. */
const connectWithinMs = 5_000;
const ownBuffersMax = 64;

/** Every connection that is carried through any Service, and how many there may be. */
export class CarriedConnections implements Disposable {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #loans = new BufferLoans(ownBuffersMax);
  readonly #open = new Set<Socket>();

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Leads one accepted connection to a target, byte for byte; one too many, or one that leads nowhere, is reset. */
  carry(accepted: Socket, { host, port }: Target): void {
    if (this.#open.size >= this.#max) {
      accepted.resetAndDestroy();
      return;
    }
    const outgoing = newSocket();
    const near = adoptAccepted(accepted, (incoming) => new RelaySide(incoming, outgoing, this.#loans));
    this.#open.add(near);
    near.once("close", () => this.#open.delete(near));
    this.#limitConnect(outgoing);
    outgoing.connect({ host, port });
    relay(near, outgoing, this.#loans);
  }

  /** Ends them all. */
  [Symbol.dispose](): void {
    for (const socket of this.#open) socket.resetAndDestroy();
  }

  #limitConnect(outgoing: WireSocket): void {
    const timer = this.#clock.after(connectWithinMs, () => outgoing.destroy(new Error("the target does not answer")));
    outgoing.once("connect", () => timer.cancel()).once("close", () => timer.cancel());
  }
}

/** One address and port of a Service that is listened on. Closing it ends no connection, as kube-proxy ends none. */
export class ServiceListener implements AsyncDisposable {
  readonly #server: Server;
  readonly #carried: CarriedConnections;
  #targets: readonly Target[];

  private constructor(carried: CarriedConnections, { targets }: ServiceRoute) {
    this.#carried = carried;
    this.#targets = targets;
    this.#server = createServer(plainAcceptedSocket, (accepted) => this.#accept(accepted));
  }

  /** @throws Error as listening fails: `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`. */
  static async open(carried: CarriedConnections, route: ServiceRoute): Promise<ServiceListener> {
    const listener = new ServiceListener(carried, route);
    await new Promise<void>((resolve, reject) => {
      listener.#server.on("error", reject).listen(route.port, route.address, resolve);
    });
    return listener;
  }

  /** Who connects from now on is led to one of these. */
  leadTo(targets: readonly Target[]): void {
    this.#targets = targets;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It calls back when the last connection has ended, which is not waited for.
    this.#server.close();
  }

  #accept(accepted: Socket): void {
    const target = this.#targets[Math.floor(Math.random() * this.#targets.length)];
    if (target) this.#carried.carry(accepted, target);
    else accepted.resetAndDestroy();
  }
}
