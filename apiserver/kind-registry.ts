import type { ServedKind } from "./served-kind.ts";
import { resourceName } from "./status-errors.ts";

/** The kinds that one server serves. */
export class KindRegistry {
  readonly kinds: readonly ServedKind[];
  readonly #byPath = new Map<string, ServedKind>();
  readonly #byGroupKind = new Map<string, ServedKind>();
  readonly #byResource = new Map<string, ServedKind>();

  constructor(kinds: readonly ServedKind[]) {
    this.kinds = kinds;
    for (const kind of kinds) {
      const { group, version, plural } = kind.type;
      this.#byPath.set(`${group}/${version}/${plural}`, kind);
      const groupKind = `${group}/${kind.type.kind}`;
      // Of several versions the stored one represents the kind.
      if (!kind.view || !this.#byGroupKind.has(groupKind)) this.#byGroupKind.set(groupKind, kind);
      if (!kind.view) this.#byResource.set(storedResource(kind), kind);
    }
  }

  at(group: string, version: string, plural: string): ServedKind | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`);
  }

  /** An owner reference of any version refers to the kind. */
  ofGroupKind(group: string, kind: string): ServedKind | undefined {
    return this.#byGroupKind.get(`${group}/${kind}`);
  }

  ofResource(resource: string): ServedKind | undefined {
    return this.#byResource.get(resource);
  }
}

/** The collection in the store for the objects of a kind. */
export function storedResource(kind: ServedKind): string {
  return resourceName(kind.view?.of ?? kind.type);
}
