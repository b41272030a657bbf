// Runs one of our programs as a process, and records the files that it loads.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeKubeconfig } from "../programs/kubeconfig.ts";
import type { MemoryApi } from "./memory-api.ts";

/** Options of Node that log each loaded file. */
export const tellLoaded = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    load(url, context, next) {
      process.stdout.write("loaded " + url + "\\n");
      return next(url, context);
    },
  });`)}`;

/** An environment with only these variables, and the cache that halves the start of a program. */
export const bareEnvironment = (variables: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  const { NODE_COMPILE_CACHE: cache } = process.env;
  return { ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }), ...variables };
};

/** The packages that a program has loaded, by its log. */
export const packagesIn = (said: string): ReadonlySet<string | undefined> =>
  new Set([...said.matchAll(/^loaded .*\/node_modules\/((?:@[^/]+\/)?[^/]+)/gm)].map(([, name]) => name));

/** The path of a kubeconfig for an API server in memory. */
export async function kubeconfigFor({ url }: MemoryApi) {
  const folder = await mkdtemp(join(tmpdir(), "rouse-program-"));
  return { kubeconfig: writeKubeconfig(folder, url), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}
