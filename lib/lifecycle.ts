/** Something that runs in the background until it is disposed of. */
export interface Running extends AsyncDisposable {
  /** Rejects when the background work ended by itself; never resolves. A dead loop must not look healthy. */
  readonly failed: Promise<never>;
}

/** Rejects with the first of them, if one does; what is absent never fails. Nobody has to listen to it. */
export function firstFailure(...parts: readonly (Partial<Pick<Running, "failed">> | undefined)[]): Promise<never> {
  const failed = Promise.race(parts.flatMap((part) => part?.failed ?? []));
  failed.catch(() => {}); // whoever does not race it must not be killed by it
  return failed;
}

/** Resolves once the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Settles as `work` does, or rejects with the signal's reason first; the work itself goes on for others. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    // Listened to even when nobody waits any more: a failure of abandoned work must not end the process.
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

/**
 * Runs `work` until it is disposed of: disposal aborts the signal and waits for the work to end. Work that returns
 * or throws before that makes `failed` reject.
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
  failed.catch(() => {}); // whoever does not race it must not be killed by it
  return {
    failed,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error(`${name} is stopping`));
      await ended;
    },
  };
}

/**
 * Aborts at the first SIGTERM, SIGINT or SIGHUP (a closed terminal); a second one ends the process at once with status 1, as the ecosystem's
 * controllers do. Disposing takes the handlers off again.
 */
export function stopOnSignals(process: NodeJS.Process): { readonly signal: AbortSignal } & Disposable {
  const stop = new AbortController();
  const onSignal = (name: NodeJS.Signals) => {
    if (stop.signal.aborted) process.exit(1);
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
 * Ends the process once its work is over. Left to itself, Node closes every handle that it still knows of before it ends, and was seen to
 * wait for one for ever there, at full load and deaf to signals: a socket's handle may have been given to another socket.
 */
export function endProcess(status: number): never {
  process.exit(status);
}
