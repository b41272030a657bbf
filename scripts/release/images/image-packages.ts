import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const programs = ["controller", "activator", "node-agent"] as const;
export type Program = (typeof programs)[number];

/** The file that a program begins with, below the repository. */
export const mainFile = (program: Program): string =>
  program === "node-agent" ? "node/agent/main.ts" : `${program}/main.ts`;

/** An npm package as `package-lock.json` describes it. */
export interface LockedPackage {
  /** Below the repository, such as `node_modules/pino`. */
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
}

/**
 * The npm packages that the image of a program contains, in the order of their folders.
 *
 * @throws when a package is not in `package-lock.json`, or is there without a licence.
 */
export function packagesOf(repository: string, program: Program): readonly LockedPackage[] {
  const { packages } = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8"));
  const list = execFileSync(process.execPath, ["scripts/collect-program.ts", mainFile(program)], {
    cwd: repository,
    encoding: "utf8",
  });
  return list
    .split("\n")
    .filter(Boolean)
    .map((folder) => {
      const { version, license } = packages[folder] ?? {};
      if (typeof version !== "string") throw new Error(`${folder} is not in package-lock.json`);
      if (typeof license !== "string") throw new Error(`${folder} has no licence in package-lock.json`);
      return { folder, name: folder.slice(folder.lastIndexOf("node_modules/") + 13), version, license };
    });
}
