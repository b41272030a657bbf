import type { OpenConnections } from "../../api/sandbox.ts";
import { SetsByKey } from "../../lib/sets-by-key.ts";
import type { OpenConnection } from "./open-connections.ts";

/** A connection whose being open means something to its sandbox. */
export interface StayingConnection extends OpenConnection {
  readonly sandboxUid: string;
  readonly podUid: string;
  /** What it means that it is open, from now on. */
  mean(meaning: OpenConnections): void;
}

interface Listed {
  readonly entry: StayingConnection;
  meaning: OpenConnections;
}

/** The connections that are open, and what their owners say that this means. */
export class StayBook {
  readonly #bySandbox = new SetsByKey<Listed>();

  /** Disposing takes it out: it has ended. */
  add(entry: StayingConnection, meaning: OpenConnections): Disposable {
    const added = this.#bySandbox.add(entry.sandboxUid, { entry, meaning });
    entry.mean(meaning);
    return added;
  }

  /** The owner of a sandbox has said what its open connections mean. */
  mean(sandboxUid: string, meaning: OpenConnections): void {
    for (const listed of this.#bySandbox.of(sandboxUid)) {
      if (listed.meaning === meaning) continue;
      listed.meaning = meaning;
      listed.entry.mean(meaning);
    }
  }

  /** Closes what is open to a Pod that is not to be used any more, unless it keeps that Pod; returns how many. */
  closeAll(sandboxUid: string, podUid: string): number {
    let closed = 0;
    for (const { entry, meaning } of this.#bySandbox.of(sandboxUid)) {
      if (entry.podUid !== podUid || meaning === "Count") continue;
      entry.close();
      closed += 1;
    }
    return closed;
  }
}
