import { cpSync, existsSync, mkdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { run } from "../command.ts";

/** Copies a program of this machine into a root file system, with its shared libraries. */
export async function copyProgram(root: string, program: string, target: string): Promise<void> {
  copyInto(root, program, target);
  for (const library of await sharedLibraries(program)) copyInto(root, library, library);
}

/** Copies the target of a path, and creates its parent folders. */
export function copyInto(root: string, path: string, target: string): void {
  const copy = join(root, target);
  if (existsSync(copy)) return;
  mkdirSync(dirname(copy), { recursive: true });
  cpSync(realpathSync(path), copy);
}

/** The paths of a program's shared libraries for the dynamic linker; empty for a statically linked program. */
async function sharedLibraries(program: string): Promise<readonly string[]> {
  const listed = await run("ldd", [program]).catch(() => "");
  return [...listed.matchAll(/(\/\S+) \(0x[0-9a-f]+\)/g)].map(([, path]) => path ?? "");
}
