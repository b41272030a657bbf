import { parseKey } from "../../../api/kinds/meta.ts";

/** The namespace of a slice, by its key. */
export const namespaceOf = (key: string): string => parseKey(key).namespace ?? "";

/** How many ports each slice keeps from others, by its key, and all slices of a namespace. */
export class KeptCounts {
  readonly #ofSlice = new Map<string, number>();
  readonly #inNamespace = new Map<string, number>();

  set(key: string, count: number): void {
    const change = count - this.of(key);
    if (change === 0) return;
    const namespace = namespaceOf(key);
    setCount(this.#ofSlice, key, count);
    setCount(this.#inNamespace, namespace, this.in(namespace) + change);
  }

  of(key: string): number {
    return this.#ofSlice.get(key) ?? 0;
  }

  in(namespace: string): number {
    return this.#inNamespace.get(namespace) ?? 0;
  }
}

function setCount(counts: Map<string, number>, key: string, count: number): void {
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
