import type { Stored } from "../../../api/kinds/meta.ts";
import { type EndpointSlice, olderFirst } from "../../../api/protocols/tcp-front.ts";
import { KeyCounts } from "../../../lib/queues/key-counts.ts";

type Slice = Stored<EndpointSlice>;

interface Keeper {
  readonly uid: string;
  readonly namespace: string;
}

/**
 * Which EndpointSlice each activator port belongs to, if several name it: the one that was seen with it first. The age of a slice does
 * not decide, because a user with the right to write slices could name another's port in an older slice. Of several that are seen at
 * once, the oldest counts.
 */
export class PortKeepers {
  readonly #keepers = new Map<number, Keeper>();
  readonly #ofNamespace = new KeyCounts();

  /** How many ports belong to slices of a namespace. */
  of(namespace: string): number {
    return this.#ofNamespace.of(namespace);
  }

  /** Whether the port belongs to this slice, as of the last choice. */
  has(port: number, { metadata }: Slice): boolean {
    return this.#keepers.get(port)?.uid === metadata.uid;
  }

  /** The slice that a port belongs to now. `hasRoom`: whether a namespace may have another port. */
  choose(port: number, naming: readonly Slice[], hasRoom: (namespace: string) => boolean): Slice | undefined {
    const before = this.#keepers.get(port);
    const kept = naming.find(({ metadata }) => metadata.uid === before?.uid);
    if (kept) return kept;
    if (before) this.#ofNamespace.remove(before.namespace);
    this.#keepers.delete(port);
    const next = naming.toSorted(olderFirst).find((slice) => hasRoom(namespaceOf(slice)));
    if (!next) return undefined;
    const keeper = { uid: next.metadata.uid, namespace: namespaceOf(next) };
    this.#keepers.set(port, keeper);
    this.#ofNamespace.add(keeper.namespace);
    return next;
  }
}

const namespaceOf = ({ metadata }: Slice): string => metadata.namespace ?? "";
