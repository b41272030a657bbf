/** A connection to a sandbox that may stay open for long, as far as its end is ours to bring about. */
export interface OpenConnection {
  /** Ends it in the way of its protocol, for its sandbox goes to sleep. */
  close(): void;
}

/** The open connections that do not keep a Pod, by its UID. */
export class OpenConnectionBook {
  readonly #byPod = new Map<string, Set<OpenConnection>>();

  /** Disposing takes it out: it has ended. */
  add(podUid: string, connection: OpenConnection): Disposable {
    const connections = this.#byPod.get(podUid) ?? new Set();
    this.#byPod.set(podUid, connections.add(connection));
    return {
      [Symbol.dispose]: () => {
        connections.delete(connection);
        if (connections.size === 0 && this.#byPod.get(podUid) === connections) this.#byPod.delete(podUid);
      },
    };
  }

  /** Closes what is open to a Pod that is not to be used any more; returns how many. */
  closeAll(podUid: string): number {
    const connections = this.#byPod.get(podUid) ?? new Set();
    this.#byPod.delete(podUid);
    for (const connection of connections) connection.close();
    return connections.size;
  }
}
