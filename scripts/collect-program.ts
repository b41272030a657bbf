// Copies what one program runs on, and nothing else, into a folder: `node scripts/collect-program.ts MAIN TARGET`. The
// images are made with it: they have neither tests nor what only other programs import.
import { cpSync, existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

const repository = join(import.meta.dirname, "..");
const [main, target] = process.argv.slice(2);
if (main === undefined || target === undefined) throw new Error("usage: node scripts/collect-program.ts MAIN TARGET");

// Folders of packages in which nothing is that runs here.
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

const files = new Set<string>([join(repository, "package.json")]);
const packages = new Set<string>();
followFile(resolve(main));
for (const file of files) cpSync(file, join(target, relative(repository, file)));
for (const folder of packages) {
  cpSync(folder, join(target, relative(repository, folder)), { recursive: true, filter: isRun });
}

/** A source file, and all that it imports when it runs: an `import type` is gone by then, a `type` among other names is not. */
function followFile(file: string): void {
  if (files.has(file)) return;
  files.add(file);
  if (!file.endsWith(".ts")) return;
  const imports = /^(?:import|export)\s(?!type\s)[^;]*?from "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm;
  for (const [, from, bare, dynamic] of readFileSync(file, "utf8").matchAll(imports)) {
    const name = from ?? bare ?? dynamic ?? "";
    if (name.startsWith(".")) followFile(resolve(dirname(file), name));
    else if (!name.startsWith("node:")) followPackage(packageName(name), repository);
  }
}

/** `@scope/name/some/file` is in `@scope/name`, `name/some/file` in `name`. */
function packageName(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** A package and all that it depends on, found as Node finds it from `importer`. */
function followPackage(name: string, importer: string): void {
  const folder = findPackage(name, importer);
  if (folder === undefined || packages.has(folder)) return; // an optional one need not be there
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

/** Of a package: no types, tests, source maps, texts, nor packages inside, which are copied if they are needed. */
function isRun(path: string): boolean {
  const name = basename(path);
  if (packages.has(path) || name.startsWith("LICENSE")) return true;
  return !notRun.has(name) && !/\.(d\.[cm]?ts|[cm]?ts|map|md|markdown)$/.test(name);
}
