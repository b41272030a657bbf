import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Pinned {
  /** The folder whose go.mod pins the module. */
  readonly pinnedBy: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * The folder of a module with its published files; downloaded if missing, and verified by go.sum.
 *
 * @throws when it cannot be downloaded; the message ends with the output of Go.
 */
export async function moduleDirectory(module: string, { pinnedBy, environment }: Pinned): Promise<string> {
  const args = ["mod", "download", "-json", module];
  const { stdout } = await run("go", args, { cwd: pinnedBy, env: { ...environment } });
  const { Dir }: { readonly Dir: string } = JSON.parse(stdout);
  return Dir;
}
