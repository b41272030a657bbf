import { runGuarded } from "./guard.ts";

/**
 * Calls back once when the signal is aborted, unless disposed before. An already aborted signal calls no listener. An
 * error of the listener is reported and has no other effect: Node would end the process with it (`EventTarget` in
 * Node's documentation).
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => unknown): Disposable {
  const aborted = () => runGuarded("abort-listener", listener);
  signal?.addEventListener("abort", aborted, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", aborted) };
}
