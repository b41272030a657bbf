import { defaultCacheDirectory, findOrBuild, type ToolName } from "../../../scripts/tools/build-tool.ts";

/**
 * The path of a program that others wrote, built if it is missing.
 *
 * @throws Error without Go.
 */
export async function builtProgram(name: ToolName): Promise<string> {
  const path = await findOrBuild(name, {
    cacheDirectory: defaultCacheDirectory(process.env),
    environment: process.env,
    say: (line) => process.stderr.write(`${line}\n`),
  });
  if (path === undefined) throw new Error(`${name} is built with Go 1.26 or newer, which is not on the PATH`);
  return path;
}
