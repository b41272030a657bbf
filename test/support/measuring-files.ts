import { globSync, readFileSync } from "node:fs";

/** The files among these that measure memory or count objects, by what they import. */
export function measuringFiles(include: readonly string[], exclude: readonly string[]): string[] {
  const files = globSync(include, { exclude });
  const collects = /\/heap-bytes\.ts"|import \{ queryObjects \}/;
  return files.filter((file) => collects.test(readFileSync(file, "utf8")));
}
