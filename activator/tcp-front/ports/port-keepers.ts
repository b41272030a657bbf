import { type EndpointSlice, olderFirst } from "../../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { NamespacePorts } from "./namespace-ports.ts";

type Slice = Stored<EndpointSlice>;

/**
 * Which EndpointSlice each activator port belongs to, if several name it: the one that was seen with it first. The age of a slice does
 * not decide, because a user with the right to write slices could name another's port in an older slice. Of several that are seen at
 * once, the oldest counts.
 */
export class PortKeepers {
  /** The UIDs of slices. */
  readonly #keepers = new Map<number, string>();
  readonly #ofNamespace: Pick<NamespacePorts, "add" | "remove">;

  constructor(ofNamespace: Pick<NamespacePorts, "add" | "remove">) {
    this.#ofNamespace = ofNamespace;
  }

  /** Whether the port belongs to this slice, as of the last choice. */
  has(port: number, { metadata }: Slice): boolean {
    return this.#keepers.get(port) === metadata.uid;
  }

  /** The slice that a port belongs to now. `hasRoom`: whether a namespace may have another port. */
  choose(port: number, naming: readonly Slice[], hasRoom: (namespace: string) => boolean): Slice | undefined {
    const before = this.#keepers.get(port);
    const kept = naming.find(({ metadata }) => metadata.uid === before);
    if (kept) return kept;
    this.#ofNamespace.remove("kept", port);
    this.#keepers.delete(port);
    const next = naming.toSorted(olderFirst).find((slice) => hasRoom(namespaceOf(slice)));
    if (!next) return undefined;
    this.#keepers.set(port, next.metadata.uid);
    this.#ofNamespace.add("kept", port, namespaceOf(next));
    return next;
  }
}

const namespaceOf = ({ metadata }: Slice): string => metadata.namespace ?? "";
