/**
 * The places where unexpected errors are caught: a closed set, because it is a metric label.
 *
 * `process` means that no guard caught the error.
 */
export const guardedPlaces = [
  "abort-listener",
  "accept",
  "api-server",
  "by-name",
  "certificate",
  "drain",
  "http-front",
  "kubelet",
  "page",
  "pod-connection",
  "process",
  "queue",
  "service-proxy",
  "socket",
  "subscriber",
  "tcp-front",
  "timer",
  "trace",
  "wake",
  "watch",
  "webhook",
] as const;

export type GuardedPlace = (typeof guardedPlaces)[number];

/** Called with every unexpected error. */
export type UnexpectedErrorListener = (where: GuardedPlace, error: unknown) => void;

const listeners = new Set<UnexpectedErrorListener>();

/** Calls back for every reported error of this process, until disposed. */
export function onUnexpectedError(listener: UnexpectedErrorListener): Disposable {
  const own: UnexpectedErrorListener = (where, error) => listener(where, error); // the same function may be added twice
  listeners.add(own);
  return { [Symbol.dispose]: () => void listeners.delete(own) };
}

/**
 * Reports an unexpected error. It never throws itself. Without a listener, the error is thrown again outside of all
 * calls, so that it cannot be lost: it ends a process without a supervisor, and fails a test.
 */
export function reportUnexpected(where: GuardedPlace, error: unknown): void {
  if (listeners.size === 0) return rethrowOutside(error);
  for (const listener of listeners) {
    try {
      listener(where, error);
    } catch (failure) {
      rethrowOutside(failure);
    }
  }
}

/**
 * Runs the work of one event, callback or promise. If it throws or rejects, the error is reported, and `onFailure` ends
 * the connection, request or key of the work. Nothing else is affected.
 */
export function runGuarded(where: GuardedPlace, work: () => unknown, onFailure?: (error: unknown) => void): void {
  try {
    const result = work();
    if (result instanceof Promise) watchPromise(where, result, onFailure);
  } catch (error) {
    failed(where, error, onFailure);
  }
}

type OnFailure = ((error: unknown) => void) | undefined;

function watchPromise(where: GuardedPlace, result: Promise<unknown>, onFailure: OnFailure): void {
  result.catch((error) => failed(where, error, onFailure));
}

function failed(where: GuardedPlace, error: unknown, onFailure: OnFailure): void {
  reportUnexpected(where, error);
  if (onFailure) runGuarded(where, () => onFailure(error));
}

/**
 * Wraps an event handler or callback as `runGuarded` does. `onFailure` gets the handler's arguments. It calls the handler itself: events
 * are frequent, and a function for each would be garbage.
 */
export function guarded<A extends readonly unknown[]>(
  where: GuardedPlace,
  handler: (...args: A) => unknown,
  onFailure?: (...args: A) => void,
): (...args: A) => void {
  return (...args) => {
    try {
      const result = handler(...args);
      if (result instanceof Promise) watchPromise(where, result, boundTo(args, onFailure));
    } catch (error) {
      failed(where, error, boundTo(args, onFailure));
    }
  };
}

function boundTo<A extends readonly unknown[]>(args: A, onFailure: ((...args: A) => void) | undefined): OnFailure {
  return onFailure && (() => onFailure(...args));
}

function rethrowOutside(error: unknown): void {
  process.nextTick(() => {
    throw error;
  });
}
