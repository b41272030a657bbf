import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { byCodeUnits } from "../../lib/data/by-code-units.ts";

export const checksumsFile = "SHA256SUMS";
export const signatureFile = `${checksumsFile}.sig`;

/**
 * The files of a release below its folder, in the order of their names, without the checksums and their signature. Also those whose
 * names begin with a dot: nothing in the folder goes unnoticed.
 */
export function releasedFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      const file = relative(folder, join(entry.parentPath, entry.name));
      if (!entry.isFile()) throw new Error(`${file} in ${folder} is no file: a release has only files`);
      return file;
    })
    .filter((file) => file !== checksumsFile && file !== signatureFile)
    .sort(byCodeUnits);
}

/** One line for each file, as `sha256sum --check` reads them. */
export function checksums(folder: string): string {
  return releasedFiles(folder)
    .map(
      (file) =>
        `${createHash("sha256")
          .update(readFileSync(join(folder, file)))
          .digest("hex")}  ${file}\n`,
    )
    .join("");
}
