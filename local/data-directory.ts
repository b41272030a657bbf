import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** The folder with all data of local mode. Disposing removes it if it is a temporary one. */
export interface DataDirectory extends Disposable {
  readonly path: string;
}

/** `path` undefined: a temporary folder. Only the owner may enter it: volumes and logs may hold secrets. */
export function openDataDirectory(path: string | undefined): DataDirectory {
  if (path === undefined) {
    const temporary = mkdtempSync(join(tmpdir(), "rouse-"));
    return { path: temporary, [Symbol.dispose]: () => rmSync(temporary, { recursive: true, force: true }) };
  }
  const kept = resolve(path);
  mkdirSync(kept, { recursive: true, mode: 0o700 });
  return { path: kept, [Symbol.dispose]: () => {} };
}

/** Replaces a file atomically: a reader sees the old text or the new one. The file has `mode` from its creation. */
export function writeWhole(path: string, text: string, mode: number): void {
  mkdirSync(dirname(path), { recursive: true });
  const next = `${path}.new`;
  rmSync(next, { force: true }); // otherwise the file of a killed process keeps its old mode
  writeFileSync(next, text, { mode });
  renameSync(next, path);
}
