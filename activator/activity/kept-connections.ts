import type { OpenConnections } from "../../api/kinds/sandbox.ts";
import { forEachYielding } from "../../lib/time/yielding.ts";

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

/** The open connections of one sandbox. */
interface Kept {
  readonly all: Set<Listed>;
  meaning: OpenConnections;
  /** Whether some may still have a former meaning. */
  isChanging: boolean;
  /** The Pods whose connections are being closed; true: once more. */
  readonly closing: Map<string, boolean>;
}

/**
 * The open connections by sandbox, with the current `openConnections` of each sandbox. A tenant may open tens of thousands, and
 * may change its sandbox at any rate. So what concerns all of them happens in turns of the event loop.
 */
export class KeptConnections {
  readonly #sandboxes = new Map<string, Kept>();
  readonly #onClosed: () => void;

  /** `onClosed` is called for each connection that is closed because its sandbox is suspended. */
  constructor(onClosed: () => void) {
    this.#onClosed = onClosed;
  }

  /** The number of sandboxes with open connections. */
  get size(): number {
    return this.#sandboxes.size;
  }

  /** Registers a connection; dispose the result when the connection has ended. */
  add(entry: KeptConnection, meaning: OpenConnections): Disposable {
    const { sandboxUid } = entry;
    const kept = this.#sandboxes.get(sandboxUid) ?? newKept(meaning);
    this.#sandboxes.set(sandboxUid, kept);
    const listed = { entry, meaning };
    kept.all.add(listed);
    entry.mean(meaning);
    return {
      [Symbol.dispose]: () => {
        kept.all.delete(listed);
        if (kept.all.size === 0 && this.#sandboxes.get(sandboxUid) === kept) this.#sandboxes.delete(sandboxUid);
      },
    };
  }

  /** The `openConnections` of a sandbox was read or changed. */
  mean(sandboxUid: string, meaning: OpenConnections): void {
    const kept = this.#sandboxes.get(sandboxUid);
    if (!kept || kept.meaning === meaning) return;
    kept.meaning = meaning;
    if (!kept.isChanging) void changeAll(kept);
  }

  /** Gives all connections of a sandbox their current meaning in this step: the numbers in flight are about to be read. */
  settle(sandboxUid: string): void {
    const kept = this.#sandboxes.get(sandboxUid);
    if (kept?.isChanging) for (const listed of kept.all) change(listed, kept);
  }

  /**
   * Closes the connections to a fenced Pod in turns, except those that keep it. One whose client sends before its turn closes then,
   * before a byte is forwarded.
   */
  closeAll(sandboxUid: string, podUid: string): void {
    const kept = this.#sandboxes.get(sandboxUid);
    if (!kept) return;
    const isClosing = kept.closing.has(podUid);
    kept.closing.set(podUid, isClosing);
    if (!isClosing) void closeAllTo(podUid, kept);
  }

  /** Counts a connection that was closed because its sandbox is suspended. */
  closed(): void {
    this.#onClosed();
  }
}

const newKept = (meaning: OpenConnections): Kept => ({
  ...{ all: new Set(), meaning, isChanging: false, closing: new Map() },
});

function change(listed: Listed, { meaning }: Kept): void {
  if (listed.meaning === meaning) return;
  listed.meaning = meaning;
  listed.entry.mean(meaning);
}

/** Each gets the meaning of its turn, so many changes cost no more than one. */
async function changeAll(kept: Kept): Promise<void> {
  kept.isChanging = true;
  for (let meaning: OpenConnections | undefined; meaning !== kept.meaning; ) {
    meaning = kept.meaning;
    await forEachYielding(kept.all, (listed) => change(listed, kept));
  }
  kept.isChanging = false;
}

async function closeAllTo(podUid: string, { all, closing }: Kept): Promise<void> {
  do {
    closing.set(podUid, false);
    await forEachYielding(all, ({ entry }) => {
      if (entry.podUid === podUid) entry.fenced();
    });
  } while (closing.get(podUid));
  closing.delete(podUid);
}
