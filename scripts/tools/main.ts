// Builds the named programs and prints their paths, one to a line: `node scripts/tools/main.ts kubectl k6`.
import { defaultCacheDirectory, findOrBuild, type ToolName, tools } from "./build-tool.ts";

const builder = {
  cacheDirectory: defaultCacheDirectory(process.env),
  environment: process.env,
  say: (line: string) => process.stderr.write(`${line}\n`),
};

const isTool = (name: string): name is ToolName => Object.hasOwn(tools, name);

for (const name of process.argv.slice(2)) {
  if (!isTool(name)) {
    process.stderr.write(`unknown tool ${name}; the tools are ${Object.keys(tools).join(", ")}\n`);
    process.exit(1);
  }
  const path = await findOrBuild(name, builder);
  if (path === undefined) {
    process.stderr.write(`cannot build ${name}: "go" is not on the PATH; install Go 1.26 or newer\n`);
    process.exit(1);
  }
  process.stdout.write(`${path}\n`);
}
