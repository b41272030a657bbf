import type { Clock, Timer } from "../../lib/clock.ts";
import { newSocket, type WireSocket } from "../socket/wire-socket.ts";

export interface Address {
  readonly ip: string;
  readonly port: number;
}

/** No connection was made, so nothing was sent. */
export class DialError extends Error {
  override readonly name = "DialError";
  readonly timedOut: boolean;

  constructor({ ip, port }: Address, options: { readonly timedOut: boolean; readonly cause?: unknown }) {
    super(`cannot connect to ${ip}:${port}`, { cause: options.cause });
    this.timedOut = options.timedOut;
  }
}

/** Hears once what became of a dial. */
export interface DialListener {
  /** A connection, paused, on which nothing was sent. */
  connected(socket: WireSocket, dial: Dial): void;
  failed(error: DialError, dial: Dial): void;
}

/** One attempt to connect. Proxy settings of the environment mean nothing here. */
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
    this.#socket.pause().connect({ host: address.ip, port: address.port });
  }

  /** Gives it up; the listener hears nothing more. */
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
 * Dials, and waits for what comes of it.
 *
 * @throws DialError when it is refused or takes longer than `limitMs`; the signal's reason once it is aborted.
 */
export function dial(address: Address, limitMs: number, clock: Clock, signal: AbortSignal): Promise<WireSocket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const leave = () => {
      dialling.cancel();
      reject(signal.reason);
    };
    const settled = () => signal.removeEventListener("abort", leave);
    signal.addEventListener("abort", leave, { once: true });
    const dialling = new Dial(address, limitMs, clock, {
      connected: (socket) => {
        settled();
        resolve(socket);
      },
      failed: (error) => {
        settled();
        reject(error);
      },
    });
  });
}
