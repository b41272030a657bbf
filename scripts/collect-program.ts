// Copies one program with its imports, and nothing else, into a folder: `node scripts/collect-program.ts MAIN TARGET`.
// The images are built with it: they contain neither tests nor imports of other programs. Our files become JavaScript: the types are
// erased, and each line and column stays as it is (decision 81). Without TARGET it copies nothing and prints the folders of the packages,
// one to a line.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";

const repository = join(import.meta.dirname, "..");
const [main, target] = process.argv.slice(2);
if (main === undefined) throw new Error("usage: node scripts/collect-program.ts MAIN [TARGET]");

// Folders of packages that are not needed at run time.
const notRun = new Set([
  "node_modules",
  "@types",
  "test",
  "tests",
  "prebuilds",
  "benchmarks",
  "example",
  "examples",
  "docs",
]);

/** Imports at run time, and files that a program starts as processes; see `followFile`. */
const imports =
  /^(?:import|export)\s(?!type\s)[^;]*?from "([^"]+)"|^import "([^"]+)"|\b(?:import|new URL)\("([^"]+)"/gm;

const files = new Set<string>(["package.json", "LICENSE", "NOTICE"].map((file) => join(repository, file)));
const packages = new Set<string>();
followFile(resolve(main));
if (target === undefined) {
  for (const folder of [...packages].sort()) process.stdout.write(`${relative(repository, folder)}\n`);
} else {
  for (const file of files) copyFile(file, join(target, relative(repository, file)));
  for (const folder of packages) {
    cpSync(folder, join(target, relative(repository, folder)), { recursive: true, filter: isRun });
  }
}

/**
 * A source file, and its imports at run time: `import type` and names marked `type` are erased. And the files that it
 * starts as processes: `new URL("./file.ts", import.meta.url)`.
 */
function followFile(file: string): void {
  if (files.has(file)) return;
  files.add(file);
  if (!file.endsWith(".ts")) return;
  for (const [, from, bare, dynamic] of readFileSync(file, "utf8").matchAll(imports)) {
    const name = from ?? bare ?? dynamic ?? "";
    if (name.startsWith(".")) followFile(resolve(dirname(file), name));
    else if (!name.startsWith("node:")) followPackage(packageName(name), repository);
  }
}

/** A file of ours with types becomes one without, which names the others by their new names. */
function copyFile(file: string, copy: string): void {
  if (!file.endsWith(".ts")) return cpSync(file, copy);
  const text = withoutWarnings(() => stripTypeScriptTypes(readFileSync(file, "utf8")));
  const renamed = text.replaceAll(imports, (statement) => statement.replace(/(?<="\.{1,2}\/[^"]*)\.ts"/, '.js"'));
  mkdirSync(dirname(copy), { recursive: true });
  writeFileSync(copy.replace(/\.ts$/, ".js"), renamed);
}

/** Node says of the function that it may change, at each call. */
function withoutWarnings<T>(work: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return work();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** `@scope/name/some/file` is in `@scope/name`, `name/some/file` in `name`. */
function packageName(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** A package and its dependencies, resolved as Node does from `importer`. */
function followPackage(name: string, importer: string): void {
  const folder = findPackage(name, importer);
  if (folder === undefined || packages.has(folder)) return; // an optional package may be missing
  packages.add(folder);
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies })) followPackage(dependency, folder);
}

function findPackage(name: string, importer: string): string | undefined {
  const folder = join(importer, "node_modules", name);
  if (existsSync(folder)) return folder;
  return importer === repository ? undefined : findPackage(name, dirname(importer));
}

/**
 * Of a package: its licence, whatever the name of the file, but no types, tests, source maps, texts, nor nested packages, which
 * are copied if they are needed.
 */
function isRun(path: string): boolean {
  const name = basename(path);
  if (packages.has(path) || /^(un)?licen[cs]e|^notice|^copying/i.test(name)) return true;
  return !notRun.has(name) && !/\.(d\.[cm]?ts|[cm]?ts|map|md|markdown)$/.test(name);
}
