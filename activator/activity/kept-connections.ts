import type { OpenConnections } from "../../api/kinds/sandbox.ts";
import { SetsByKey } from "../../lib/data/sets-by-key.ts";

/** An open connection whose meaning `openConnections` decides. */
export interface KeptConnection {
  readonly sandboxUid: string;
  readonly podUid: string;
  /** Sets the meaning of the open connection from now on. */
  mean(meaning: OpenConnections): void;
  /** Its Pod is fenced: the connection closes, as soon as it does not keep that Pod. */
  fenced(): void;
}

interface Listed {
  readonly entry: KeptConnection;
  meaning: OpenConnections;
}

/** The open connections by sandbox, with the current `openConnections` of each sandbox. */
export class KeptConnections {
  readonly #bySandbox = new SetsByKey<Listed>();
  readonly #onClosed: () => void;

  /** `onClosed` is called for each connection that is closed because its sandbox is suspended. */
  constructor(onClosed: () => void) {
    this.#onClosed = onClosed;
  }

  /** Registers a connection; dispose the result when the connection has ended. */
  add(entry: KeptConnection, meaning: OpenConnections): Disposable {
    const added = this.#bySandbox.add(entry.sandboxUid, { entry, meaning });
    entry.mean(meaning);
    return added;
  }

  /** The `openConnections` of a sandbox was read or changed. */
  mean(sandboxUid: string, meaning: OpenConnections): void {
    for (const listed of this.#bySandbox.of(sandboxUid)) {
      if (listed.meaning === meaning) continue;
      listed.meaning = meaning;
      listed.entry.mean(meaning);
    }
  }

  /** Closes the connections to a fenced Pod, except those that keep it. */
  closeAll(sandboxUid: string, podUid: string): void {
    for (const { entry } of this.#bySandbox.of(sandboxUid)) if (entry.podUid === podUid) entry.fenced();
  }

  /** Counts a connection that was closed because its sandbox is suspended. */
  closed(): void {
    this.#onClosed();
  }
}
