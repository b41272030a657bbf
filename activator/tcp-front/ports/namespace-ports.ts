import { tcpFrontPortsPerNamespaceMax } from "../../../api/between-programs/tcp-front.ts";
import { KeyCounts } from "../../../lib/queues/key-counts.ts";

/** Why a port counts for a namespace: a slice there has it, or it is quarantined and one had it. */
type Reason = "kept" | "quarantined";

/** How many ports each namespace has. A port that is quarantined and that a slice of the same namespace has again counts once. */
export class NamespacePorts {
  readonly #counts = new KeyCounts();
  readonly #namespaces: Readonly<Record<Reason, Map<number, string>>> = { kept: new Map(), quarantined: new Map() };

  of(namespace: string): number {
    return this.#counts.of(namespace);
  }

  /** Whether a namespace may have this port too. */
  hasRoom(port: number, namespace: string): boolean {
    return this.#has(port, namespace) || this.of(namespace) < tcpFrontPortsPerNamespaceMax;
  }

  add(reason: Reason, port: number, namespace: string): void {
    this.remove(reason, port);
    if (!this.#has(port, namespace)) this.#counts.add(namespace);
    this.#namespaces[reason].set(port, namespace);
  }

  remove(reason: Reason, port: number): void {
    const namespace = this.#namespaces[reason].get(port);
    if (namespace === undefined) return;
    this.#namespaces[reason].delete(port);
    if (!this.#has(port, namespace)) this.#counts.remove(namespace);
  }

  #has(port: number, namespace: string): boolean {
    const { kept, quarantined } = this.#namespaces;
    return kept.get(port) === namespace || quarantined.get(port) === namespace;
  }
}
