import { createHash } from "node:crypto";
import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { byCodeUnits } from "../../lib/data/by-code-units.ts";

export const checksumsFile = "SHA256SUMS";
export const signatureFile = `${checksumsFile}.sig`;

/** The files of a release below its folder, in the order of their names, without the checksums and their signature. */
export function releasedFiles(folder: string): readonly string[] {
  return globSync("**/*", { cwd: folder })
    .filter((file) => statSync(join(folder, file)).isFile() && file !== checksumsFile && file !== signatureFile)
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
