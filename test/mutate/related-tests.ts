import { dirname, join, normalize } from "node:path";

/** The files that a text imports by a relative path, or starts as a program by its URL. */
export function importsOf(file: string, text: string): readonly string[] {
  const found = text.matchAll(/(?:from|import|new URL)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g);
  return [...found].map(([, path]) => normalize(join(dirname(file), path ?? "")));
}

/**
 * The tests that import a file, nearest first, because those detect most and are quick: by the number of imports in
 * between, then those of its own folder, then by name. `imports` is by file.
 */
export function relatedTests(file: string, imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const importers = new Map<string, string[]>();
  for (const [importer, imported] of imports) {
    for (const one of imported) importers.set(one, [...(importers.get(one) ?? []), importer]);
  }
  const steps = new Map([[file, 0]]);
  for (const [known, distance] of steps) {
    for (const importer of importers.get(known) ?? []) if (!steps.has(importer)) steps.set(importer, distance + 1);
  }
  const rank = (test: string) => (steps.get(test) ?? 0) * 2 + Number(dirname(test) !== dirname(file));
  const tests = [...steps.keys()].filter((one) => one.endsWith(".test.ts"));
  return tests.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}
