import { onAbort } from "../../lib/guard/on-abort.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";
import { dialledMax } from "../socket/descriptors.ts";
import { openSockets } from "../socket/open-sockets.ts";
import { newSocket, type WireSocket } from "../socket/wire-socket.ts";

/** Of this process, whose limit does not change. */
const openMax = dialledMax() ?? Number.POSITIVE_INFINITY;

export interface Address {
  readonly ip: string;
  readonly port: number;
}

/** The dial failed, so no byte was sent. */
export class DialError extends Error {
  override readonly name = "DialError";
  readonly timedOut: boolean;

  constructor({ ip, port }: Address, options: { readonly timedOut: boolean; readonly cause?: unknown }) {
    super(`cannot connect to ${ip}:${port}`, { cause: options.cause });
    this.timedOut = options.timedOut;
  }
}

/** Called once with the outcome of a dial. */
export interface DialListener {
  /** A paused connection on which no byte was sent. */
  connected(socket: WireSocket, dial: Dial): void;
  failed(error: DialError, dial: Dial): void;
}

/**
 * One attempt to connect. Proxy settings of the environment are ignored. A failure is always reported to the listener, and
 * never before the constructor has returned.
 */
export class Dial {
  readonly #socket = newSocket();
  readonly #address: Address;
  readonly #listener: DialListener;
  readonly #limit: Timer;

  constructor(address: Address, limitMs: number, clock: Clock, listener: DialListener) {
    this.#address = address;
    this.#listener = listener;
    this.#limit = clock.after(limitMs, () => this.#fail({ timedOut: true }));
    this.#socket.once("connect", this.#connected).once("error", this.#failed);
    if (openSockets() > openMax) {
      this.#socket.destroy(new Error("all file descriptors for connections are in use"));
      return;
    }
    try {
      this.#socket.connect({ host: address.ip, port: address.port });
    } catch (cause) {
      this.#socket.destroy(cause instanceof Error ? cause : undefined); // the "close" event reports it, as for every other failure
    }
  }

  /** Cancels the dial. The listener is not called. */
  cancel(): void {
    this.#settle();
    this.#socket.destroy();
  }

  readonly #connected = (): void => {
    this.#settle();
    this.#listener.connected(this.#socket, this);
  };

  readonly #failed = (cause: unknown): void => this.#fail({ timedOut: false, cause });

  #fail(how: { readonly timedOut: boolean; readonly cause?: unknown }): void {
    this.cancel();
    this.#listener.failed(new DialError(this.#address, how), this);
  }

  #settle(): void {
    this.#limit.cancel();
    this.#socket.off("connect", this.#connected).off("error", this.#failed);
  }
}

/**
 * Dials and waits for the outcome.
 *
 * @throws DialError if the dial is refused or takes longer than `limitMs`; the signal's reason once it is aborted.
 */
export function dial(address: Address, limitMs: number, clock: Clock, signal: AbortSignal): Promise<WireSocket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const dialling = new Dial(address, limitMs, clock, {
      connected: (socket) => {
        leaving[Symbol.dispose]();
        resolve(socket);
      },
      failed: (error) => {
        leaving[Symbol.dispose]();
        reject(error);
      },
    });
    // The listeners of a dial are called in later turns, so this listener is set before.
    const leaving = onAbort(signal, () => {
      dialling.cancel();
      reject(signal.reason);
    });
  });
}
