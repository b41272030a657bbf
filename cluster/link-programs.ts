import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { BuiltPrograms } from "./components.ts";
import type { Layout } from "./layout.ts";

/** The programs of the cluster that a person uses, under their names in one folder. */
export function linkPrograms(layout: Layout, programs: BuiltPrograms): void {
  mkdirSync(layout.programs, { recursive: true });
  for (const name of ["kubectl", "helm"] as const) {
    const link = join(layout.programs, name);
    rmSync(link, { force: true });
    symlinkSync(programs[name], link);
  }
}
