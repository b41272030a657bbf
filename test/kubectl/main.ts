// `npm run test:kubectl`: builds the oldest and the newest supported kubectl, and runs the tests with both. It also builds grpcurl,
// which a command of the README uses.
import { spawnSync } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { defaultCacheDirectory, findOrBuild } from "../../scripts/tools/build-tool.ts";

const builder = {
  cacheDirectory: defaultCacheDirectory(process.env),
  environment: process.env,
  say: (line: string) => process.stderr.write(`${line}\n`),
};

const binaries: string[] = [];
for (const name of ["kubectl-1.30", "kubectl"] as const) {
  const path = await findOrBuild(name, builder);
  if (path) binaries.push(path);
}
if (binaries.length === 0) builder.say("there is no Go to build kubectl with: testing with the one on the PATH");

const grpcurl = await findOrBuild("grpcurl", builder);
const path = grpcurl ? `${dirname(grpcurl)}${delimiter}${process.env["PATH"]}` : process.env["PATH"];
const environment = binaries.length > 0 ? { KUBECTL_BINARIES: binaries.join(":") } : {};
const config = join(import.meta.dirname, "vitest.config.ts");
const done = spawnSync("vitest", ["run", "--config", config, ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { ...process.env, PATH: path, ...environment },
});
process.exitCode = done.status ?? 1;
