import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import { Notes, type NotesOptions } from "./notes.ts";

interface Gone {
  onGone(listener: (object: Stored<KubeObject>) => void): Disposable;
}

/** Notes on the objects of these stores, which are forgotten with them. */
export function openNotes(stores: DisposableStack, sources: readonly Gone[], options: NotesOptions): Notes {
  const notes = new Notes(options);
  for (const objects of sources) stores.use(objects.onGone(({ metadata }) => notes.forget(metadata.uid)));
  return notes;
}
