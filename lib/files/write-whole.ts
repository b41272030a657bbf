import { renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeFoldersSync } from "./make-folders.ts";

/** Replaces a file atomically: a reader sees the old text or the new one. The file has `mode` from its creation. */
export function writeWhole(path: string, text: string, mode: number): void {
  makeFoldersSync(dirname(path));
  const next = `${path}.new`;
  rmSync(next, { force: true }); // otherwise the file of a killed process keeps its old mode
  writeFileSync(next, text, { mode });
  renameSync(next, path);
}
