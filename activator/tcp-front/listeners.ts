import { createServer, type Server, type Socket } from "node:net";
import type { ListeningPort } from "../../api/between-programs/drain-protocol.ts";
import { Subscribers } from "../../lib/data/subscribers.ts";
import { guarded, runGuarded } from "../../lib/guard/guard.ts";
import type { Logger } from "../../lib/log/log.ts";
import { type Backoff, backoffDelayMs } from "../../lib/queues/backoff.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";
import { resetSocket } from "../socket/reset-socket.ts";
import { plainAcceptedSocket } from "../socket/wire-socket.ts";
import { isSamePortBinding, type PortBinding } from "./ports/port-bindings.ts";

export interface ListenersOptions {
  /** A literal address; absent: all addresses. */
  readonly host: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Receives each connection paused, with the port's binding. */
  readonly onConnection: (socket: Socket, binding: PortBinding) => void;
  /** A port could not be opened; it is retried. */
  readonly onFailure: (code: string) => void;
}

interface Listener {
  readonly binding: PortBinding;
  readonly server: Server;
  accepting: boolean;
  retry: Timer | undefined;
}

/** The number of ports opened in one turn of the event loop: ten thousand of them must not block it. Closing one takes 15 µs. */
const portsATurn = 32;
/** Another program may release a port, and file descriptors may become free. */
const backoff: Backoff = { baseMs: 250, maxMs: 15_000, jitter: 0.5 };
/** Crowds arrive at once when a busy sandbox wakes; the kernel's own limit is often lower. */
const backlog = 1_024;

/** Listens on the ports with a binding, and on no others. No other code opens and closes these ports. */
export class Listeners {
  readonly #options: ListenersOptions;
  readonly #wanted = new Map<number, PortBinding>();
  readonly #open = new Map<number, Listener>();
  readonly #failures = new Map<number, number>();
  readonly #due = new Set<number>();
  readonly #waiters = new Subscribers();
  #turn: NodeJS.Immediate | undefined;
  #notification: NodeJS.Immediate | undefined;
  #closed = false;
  #accepting = 0;

  constructor(options: ListenersOptions) {
    this.#options = options;
  }

  /** The number of ports that accept connections. */
  get size(): number {
    return this.#accepting;
  }

  /** Sets the binding of a port; undefined: none. Connections that were accepted before continue. */
  want(activatorPort: number, binding: PortBinding | undefined): void {
    if (this.#closed || isSamePortBinding(this.#wanted.get(activatorPort), binding)) return;
    if (binding) this.#wanted.set(activatorPort, binding);
    else this.#wanted.delete(activatorPort);
    this.#failures.delete(activatorPort);
    // At once, not in its turn: a connection in between must not get the former binding.
    this.#closePort(activatorPort);
    this.#settle(activatorPort);
  }

  accepts({ sandboxUid, activatorPort }: ListeningPort): boolean {
    const listener = this.#open.get(activatorPort);
    return listener?.accepting === true && listener.binding.sandboxUid === sandboxUid;
  }

  /** Calls back when ports have begun to accept, until disposed of. */
  onAccepting(listener: () => void): Disposable {
    return this.#waiters.add(listener);
  }

  /** Stops listening. Accepted connections continue. */
  close(): void {
    this.#closed = true;
    clearImmediate(this.#turn);
    for (const port of [...this.#open.keys()]) this.#closePort(port);
  }

  #settle(port: number): void {
    if (this.#closed) return;
    this.#due.add(port);
    this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#turn = undefined;
    for (const port of [...this.#due.values().take(portsATurn)]) {
      this.#due.delete(port);
      const binding = this.#wanted.get(port);
      if (binding) runGuarded("tcp-front", () => this.#openPort(binding));
    }
    if (this.#due.size > 0) this.#turn = setImmediate(() => this.#takeTurn());
  }

  #openPort(binding: PortBinding): void {
    const { activatorPort } = binding;
    if (this.#open.has(activatorPort)) return;
    const { host, onConnection } = this.#options;
    const accept = (socket: Socket) => onConnection(socket, binding);
    const server = createServer(plainAcceptedSocket, guarded("tcp-front", accept, resetSocket));
    const listener: Listener = { binding, server, accepting: false, retry: undefined };
    this.#open.set(activatorPort, listener);
    server.on("error", (error: NodeJS.ErrnoException) => this.#failed(listener, error));
    server.once("listening", () => this.#opened(listener));
    server.listen({ port: activatorPort, backlog, ...(host !== undefined && { host }) });
  }

  #opened(listener: Listener): void {
    const { activatorPort } = listener.binding;
    if (this.#open.get(activatorPort) !== listener) return;
    listener.accepting = true;
    this.#accepting += 1;
    this.#failures.delete(activatorPort);
    if (this.#waiters.size > 0) this.#notification ??= setImmediate(() => this.#notifyWaiters());
  }

  #notifyWaiters(): void {
    this.#notification = undefined;
    this.#waiters.notify();
  }

  #failed(listener: Listener, error: NodeJS.ErrnoException): void {
    const { activatorPort } = listener.binding;
    // One connection failed to be accepted; later ones may succeed.
    if (listener.accepting || this.#open.get(activatorPort) !== listener) return;
    const { clock, log, onFailure } = this.#options;
    const failures = (this.#failures.get(activatorPort) ?? 0) + 1;
    this.#failures.set(activatorPort, failures);
    onFailure(error.code ?? "other");
    if (failures === 1) log.warn({ err: error, port: activatorPort }, "cannot listen on an activator port; retrying");
    listener.retry = clock.after(backoffDelayMs(failures, backoff), () => {
      this.#open.delete(activatorPort);
      this.#settle(activatorPort);
    });
  }

  #closePort(port: number): void {
    const listener = this.#open.get(port);
    if (!listener) return;
    this.#open.delete(port);
    listener.retry?.cancel();
    if (listener.accepting) this.#accepting -= 1;
    listener.accepting = false;
    listener.server.close();
  }
}
