import { onAbort } from "../guard/on-abort.ts";
import type { Clock } from "../time/clock.ts";

/** A background task that runs until disposed. */
export interface Running extends AsyncDisposable {
  /** Rejects when the task ended by itself; never resolves. A loop that has ended must not seem healthy. */
  readonly failed: Promise<never>;
}

/**
 * Rejects with the first failure of the parts; absent parts never fail. A rejection without a listener is no unhandled
 * rejection.
 */
export function firstFailure(...parts: readonly (Partial<Pick<Running, "failed">> | undefined)[]): Promise<never> {
  const failed = Promise.race(parts.flatMap((part) => part?.failed ?? []));
  failed.catch(() => {}); // a caller that ignores it must not get an unhandled rejection
  return failed;
}

/** Resolves once the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    onAbort(signal, resolve);
  });
}

/** Settles as `work` does, or rejects earlier with the signal's reason; the work itself goes on for others. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    const leaving = onAbort(signal, () => reject(signal.reason));
    // Handled even if nothing waits any more: a failure of abandoned work must not end the process.
    work.then(resolve, reject).finally(() => leaving[Symbol.dispose]());
  });
}

/**
 * Runs `work` until disposed: disposing aborts the signal and waits for the work to end. If the work returns or throws
 * before that, `failed` rejects.
 */
export function startTask(name: string, work: (signal: AbortSignal) => Promise<void>): Running {
  const stop = new AbortController();
  const ended = (async () => work(stop.signal))().then(
    () => new Error(`${name} ended by itself`),
    (cause: unknown) => new Error(`${name} failed`, { cause }),
  );
  const failed = new Promise<never>((_, reject) => {
    void ended.then((error) => stop.signal.aborted || reject(error));
  });
  failed.catch(() => {}); // a caller that ignores it must not get an unhandled rejection
  return {
    failed,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error(`${name} is stopping`));
      await ended;
    },
  };
}

/** A terminal signals all its processes, and npm passes the signal on: one Ctrl-C arrives twice, within milliseconds. */
const sameSignalMs = 1_000;

/**
 * Aborts at the first SIGTERM, SIGINT or SIGHUP (a closed terminal). Another one ends the process at once with status
 * 1, as in the ecosystem's controllers, but not in the first second. Disposing removes the handlers.
 */
export function stopOnSignals(
  process: NodeJS.Process,
  { ticksMs }: Pick<Clock, "ticksMs"> = { ticksMs: () => performance.now() },
): { readonly signal: AbortSignal } & Disposable {
  const stop = new AbortController();
  let firstMs = 0;
  const onSignal = (name: NodeJS.Signals) => {
    if (!stop.signal.aborted) firstMs = ticksMs();
    else if (ticksMs() - firstMs >= sameSignalMs) process.exit(1);
    stop.abort(new Error(`received ${name}`));
  };
  const names = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
  for (const name of names) process.on(name, onSignal);
  return {
    signal: stop.signal,
    [Symbol.dispose]() {
      for (const name of names) process.off(name, onSignal);
    },
  };
}

/**
 * Ends the process once its work is over. Without it, Node closes every handle that it still has before it exits. It
 * was seen to hang there for ever, at full load and without reacting to signals: a socket's handle may have been given
 * to another socket.
 */
export function endProcess(status: number): never {
  process.exit(status);
}
