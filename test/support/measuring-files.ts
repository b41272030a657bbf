import { globSync, readFileSync } from "node:fs";

/** The files among these that measure memory, by what they import. */
export function measuringFiles(include: readonly string[], exclude: readonly string[]): string[] {
  const files = globSync(include, { exclude });
  return files.filter((file) => readFileSync(file, "utf8").includes('/heap-bytes.ts"'));
}
