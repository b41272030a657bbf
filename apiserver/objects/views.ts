import type { KubeObject } from "../../api/kinds/meta.ts";
import type { ServedKind } from "../served-kind.ts";
import type { Entry } from "../storage/storage.ts";

// A view of an entry is computed once for all readers.
const views = new WeakMap<Entry, Map<ServedKind, Entry>>();

/** An entry in the version of this kind: as stored, or converted. */
export function viewOf(kind: ServedKind, entry: Entry): Entry {
  if (!kind.view) return entry;
  let made = views.get(entry);
  if (!made) {
    made = new Map();
    views.set(entry, made);
  }
  let view = made.get(kind);
  if (!view) {
    const object = kind.view.fromStored(entry.object) as Entry["object"];
    view = { object, json: JSON.stringify(object) };
    made.set(kind, view);
  }
  return view;
}

/** An object of this kind in its stored version. */
export function intoStore(kind: ServedKind, object: KubeObject): KubeObject {
  return kind.view ? kind.view.toStored(object) : object;
}
