import { SetsByKey } from "../../lib/sets-by-key.ts";

/** A connection to a sandbox that may stay open for long, as far as its end is ours to bring about. */
export interface OpenConnection {
  /** Ends it in the way of its protocol, for its sandbox goes to sleep. */
  close(): void;
}

/** The open connections that do not keep a Pod, by its UID. */
export class OpenConnectionBook {
  readonly #byPod = new SetsByKey<OpenConnection>();

  /** Disposing takes it out: it has ended. */
  add(podUid: string, connection: OpenConnection): Disposable {
    return this.#byPod.add(podUid, connection);
  }

  /** Closes what is open to a Pod that is not to be used any more; returns how many. */
  closeAll(podUid: string): number {
    const connections = this.#byPod.take(podUid);
    for (const connection of connections) connection.close();
    return connections.size;
  }
}
