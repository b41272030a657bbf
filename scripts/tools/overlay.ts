import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { moduleDirectory, type Pinned } from "./module-directory.ts";

/** A change of one file of a module, for one build. The module itself is not changed. */
export interface Overlay {
  readonly module: string;
  readonly file: string;
  /** The file must contain it exactly once. */
  readonly replaced: string;
  readonly by: string;
}

/**
 * The arguments of `go build` for an overlay, whose files are written into `folder`, which is empty. Go refuses overlays in its module
 * cache. So a go.mod of this build has the module in another place, which is a link to the cache.
 *
 * @throws when the file does not contain the replaced text exactly once.
 */
export async function overlayArguments(
  overlay: Overlay,
  { folder, ...pinned }: Pinned & { readonly folder: string },
): Promise<readonly string[]> {
  const { module, file } = overlay;
  const published = await moduleDirectory(module, pinned);
  const at = (name: string) => join(folder, name);
  const [link, changed, list, goMod] = [at("module"), at("changed.go.txt"), at("overlay.json"), at("go.mod")];
  writeFileSync(changed, changedText(readFileSync(join(published, file), "utf8"), overlay));
  symlinkSync(published, link);
  writeFileSync(list, JSON.stringify({ Replace: { [join(link, file)]: changed } }));
  writeFileSync(goMod, `${readFileSync(join(pinned.pinnedBy, "go.mod"), "utf8")}\nreplace ${module} => ${link}\n`);
  copyFileSync(join(pinned.pinnedBy, "go.sum"), at("go.sum"));
  return [`-modfile=${goMod}`, `-overlay=${list}`];
}

/** @throws when the text does not contain the replaced text exactly once. */
export function changedText(text: string, { module, file, replaced, by }: Overlay): string {
  const parts = text.split(replaced);
  if (parts.length === 2) return parts.join(by);
  throw new Error(`${file} of ${module} has ${parts.length - 1} times, not once: ${replaced}`);
}
