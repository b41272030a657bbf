import { createServer, type Server, type Socket } from "node:net";
import type { ListeningPort } from "../../api/drain-protocol.ts";
import { type Backoff, backoffDelayMs } from "../../lib/backoff.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import { Subscribers } from "../../lib/subscribers.ts";
import { plainAcceptedSocket } from "../socket/wire-socket.ts";
import { isSameStanding, type Standing } from "./standings.ts";

export interface ListenersOptions {
  /** A literal address; absent: every address. */
  readonly host: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Gets each connection paused, on a port that stands for this. */
  readonly onConnection: (socket: Socket, standing: Standing) => void;
  /** A port could not be had; it is tried again. */
  readonly onFailure: (code: string) => void;
}

interface Listener {
  readonly standing: Standing;
  readonly server: Server;
  accepting: boolean;
  retry: Timer | undefined;
}

/** Ports that are opened or closed in one turn of the event loop, so that ten thousand of them keep nobody waiting. */
const portsATurn = 32;
/** A port that another program has may come free, and so do file descriptors. */
const backoff: Backoff = { baseMs: 250, maxMs: 15_000, jitter: 0.5 };
/** Crowds arrive at once when a sandbox that many use is woken; the kernel has its own, often lower, limit. */
const backlog = 1_024;

/** Listens on the ports that stand for something, and on no others. The only place that opens and closes them. */
export class Listeners {
  readonly #options: ListenersOptions;
  readonly #wanted = new Map<number, Standing>();
  readonly #open = new Map<number, Listener>();
  readonly #failures = new Map<number, number>();
  readonly #due = new Set<number>();
  readonly #waiters = new Subscribers();
  #turn: NodeJS.Immediate | undefined;
  #news: NodeJS.Immediate | undefined;
  #closed = false;
  #accepting = 0;

  constructor(options: ListenersOptions) {
    this.#options = options;
  }

  /** How many ports accept connections. */
  get size(): number {
    return this.#accepting;
  }

  /** What a port is to stand for from now on; undefined: nothing. What it accepted before goes on. */
  want(activatorPort: number, standing: Standing | undefined): void {
    if (this.#closed || isSameStanding(this.#wanted.get(activatorPort), standing)) return;
    if (standing) this.#wanted.set(activatorPort, standing);
    else this.#wanted.delete(activatorPort);
    this.#failures.delete(activatorPort);
    // At once, not in its turn: a connection that comes between must not find what the port stood for.
    this.#closePort(activatorPort);
    this.#settle(activatorPort);
  }

  accepts({ sandboxUid, activatorPort }: ListeningPort): boolean {
    const listener = this.#open.get(activatorPort);
    return listener?.accepting === true && listener.standing.sandboxUid === sandboxUid;
  }

  /** Calls back when ports have begun to accept, until it is disposed of. */
  onAccepting(listener: () => void): Disposable {
    return this.#waiters.add(listener);
  }

  /** Listens no more. What was accepted goes on. */
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
      const standing = this.#wanted.get(port);
      if (standing) this.#openPort(standing);
    }
    if (this.#due.size > 0) this.#turn = setImmediate(() => this.#takeTurn());
  }

  #openPort(standing: Standing): void {
    const { activatorPort } = standing;
    if (this.#open.has(activatorPort)) return;
    const { host, onConnection } = this.#options;
    const server = createServer(plainAcceptedSocket, (socket) => onConnection(socket, standing));
    const listener: Listener = { standing, server, accepting: false, retry: undefined };
    this.#open.set(activatorPort, listener);
    server.on("error", (error: NodeJS.ErrnoException) => this.#failed(listener, error));
    server.once("listening", () => this.#opened(listener));
    server.listen({ port: activatorPort, backlog, ...(host !== undefined && { host }) });
  }

  #opened(listener: Listener): void {
    const { activatorPort } = listener.standing;
    if (this.#open.get(activatorPort) !== listener) return;
    listener.accepting = true;
    this.#accepting += 1;
    this.#failures.delete(activatorPort);
    if (this.#waiters.size > 0) this.#news ??= setImmediate(() => this.#tell());
  }

  #tell(): void {
    this.#news = undefined;
    this.#waiters.tell();
  }

  #failed(listener: Listener, error: NodeJS.ErrnoException): void {
    const { activatorPort } = listener.standing;
    // One connection that could not be accepted; the next may be.
    if (listener.accepting || this.#open.get(activatorPort) !== listener) return;
    const { clock, log, onFailure } = this.#options;
    const failures = (this.#failures.get(activatorPort) ?? 0) + 1;
    this.#failures.set(activatorPort, failures);
    onFailure(error.code ?? "other");
    if (failures === 1)
      log.warn({ err: error, port: activatorPort }, "a port of a sandbox cannot be had; trying again");
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
