// Makes a release from a tag: `npm run release -- --dry-run`. See docs/releasing.md.
import { join, resolve } from "node:path";
import { explain } from "../../lib/guard/explain.ts";
import { defaultCacheDirectory, findOrBuild } from "../tools/build-tool.ts";
import { checkRelease } from "./check-release.ts";
import { createRun } from "./command.ts";
import { parseReleaseConfig, type ReleaseConfig, releaseFlags } from "./config.ts";
import { withInputs } from "./inputs.ts";
import { makeRelease, type Release, type ReleaseTools } from "./make-release.ts";
import { publishRelease } from "./publish.ts";
import { readRelease } from "./read-release.ts";
import { readSigningKey } from "./signature.ts";
import { findSource } from "./source.ts";

const repository = join(import.meta.dirname, "..", "..");
const say = (line: string) => void process.stderr.write(`${line}\n`);

// An exit removes the half-made release and temporary folders, and ends the registry; a signal alone would not, nor one that
// arrives twice without a listener.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

process.exitCode = await main(process.argv.slice(2));

/** The exit status of the process. */
async function main(args: readonly string[]): Promise<number> {
  try {
    await release(parseReleaseConfig(args));
    return 0;
  } catch (error) {
    return explain(error, { name: "release", command: "npm run release --", flags: releaseFlags }, process);
  }
}

async function release(config: ReleaseConfig): Promise<void> {
  const { action, registry, publishOnly } = config;
  // A key that does not serve is better known before everything is made.
  const key = config.signKey === undefined ? undefined : readSigningKey(config.signKey);
  const run = createRun(process.env);
  if (publishOnly !== undefined && key) {
    const folder = resolve(publishOnly);
    const made = readRelease(folder, { key, registry });
    say(`the release ${made.version} in ${folder} is as it was signed`);
    return await publishRelease(made, folder, { run, crane: await tool("crane"), say });
  }
  const source = await findSource({
    repository,
    run,
    tag: config.tag,
    mayLackTag: action !== "make and publish",
    sourceDateEpoch: process.env.SOURCE_DATE_EPOCH,
  });
  if (source.tag === undefined) {
    say(`version ${source.version} has no tag: this is made from the commit ${source.commit}`);
  }
  const tools: ReleaseTools = { run, crane: await tool("crane"), helm: await tool("helm"), say };
  const wanted = { source, repository, base: config.base, run };
  say(`getting ${source.tag ?? source.commit} and its packages ...`);
  if (action === "check") {
    const files = await withInputs(wanted, (inputs) => checkRelease(inputs, tools));
    say(`two releases of ${source.commit} have the same bytes in all ${files.length} files`);
    return;
  }
  const out = resolve(config.out ?? join(repository, "dist", source.version));
  const made = await withInputs(wanted, (inputs) => makeRelease({ inputs, registry, out, key }, tools));
  say(`the release ${source.version} is in ${out}${key === undefined ? ", unsigned" : ""}`);
  if (action === "make and publish") await publish(made, out, tools);
}

async function publish(made: Release, out: string, tools: ReleaseTools): Promise<void> {
  try {
    await publishRelease(made, out, tools);
  } catch (error) {
    say(`the release in ${out} is not published whole. Keep this folder: --publish-only=${out} goes on from it`);
    throw error;
  }
}

async function tool(name: "crane" | "helm"): Promise<string> {
  const path = await findOrBuild(name, {
    cacheDirectory: defaultCacheDirectory(process.env),
    environment: process.env,
    say,
  });
  if (path === undefined) throw new Error(`${name} is built with Go, and there is no "go" on the PATH`);
  return path;
}
