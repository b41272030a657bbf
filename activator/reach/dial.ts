import type { Clock } from "../../lib/clock.ts";
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

/**
 * A TCP connection, paused, on which nothing was sent. Proxy settings of the environment mean nothing here.
 *
 * @throws DialError when it is refused or takes longer than `limitMs`; the signal's reason once it is aborted.
 */
export function dial(address: Address, limitMs: number, clock: Clock, signal: AbortSignal): Promise<WireSocket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = newSocket();
    const settle = (finish: () => void) => {
      timer.cancel();
      signal.removeEventListener("abort", leave);
      socket.off("connect", connected).off("error", failed);
      finish();
    };
    const fail = (error: unknown) =>
      settle(() => {
        socket.destroy();
        reject(error);
      });
    const connected = () => settle(() => resolve(socket));
    const failed = (cause: unknown) => fail(new DialError(address, { timedOut: false, cause }));
    const leave = () => fail(signal.reason);
    const timer = clock.after(limitMs, () => fail(new DialError(address, { timedOut: true })));
    signal.addEventListener("abort", leave, { once: true });
    socket.once("connect", connected).once("error", failed);
    socket.pause().connect({ host: address.ip, port: address.port });
  });
}
