import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { BuiltPrograms } from "./components.ts";
import type { Layout } from "./layout.ts";

/** Links the cluster's client programs under their names into one folder. */
export function linkPrograms(layout: Layout, programs: BuiltPrograms): void {
  mkdirSync(layout.programs, { recursive: true });
  for (const name of ["kubectl", "helm"] as const) {
    const link = join(layout.programs, name);
    rmSync(link, { force: true });
    symlinkSync(programs[name], link);
  }
}
