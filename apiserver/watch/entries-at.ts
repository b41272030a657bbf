import { keyOf } from "../../api/kinds/meta.ts";
import { byCodeUnits } from "../../lib/data/by-code-units.ts";
import type { Entry, Storage } from "../storage/storage.ts";
import type { WatchHub } from "./watch-hub.ts";

/**
 * The objects that a collection had at a version, in the order of a list: those of now, without the changes since then.
 *
 * @throws StatusError 410 when some of these changes are no longer known.
 */
export function entriesAt(
  { storage, hub }: { readonly storage: Storage; readonly hub: WatchHub },
  resource: string,
  version: number,
): readonly Entry[] {
  const later = hub.since(resource, version);
  const entries = storage.list(resource);
  if (later.length === 0) return entries;
  const byKey = new Map(entries.map((entry) => [keyOf(entry.object), entry]));
  for (const { entry, previous } of later.toReversed()) {
    const key = keyOf(entry.object);
    if (previous) byKey.set(key, previous);
    else byKey.delete(key);
  }
  const sorted = [...byKey].sort(([one], [other]) => byCodeUnits(one, other));
  return sorted.map(([, entry]) => entry);
}
