import type { TestProject } from "vitest/node";
import { bringUp } from "../../../cluster/bring-up.ts";
import { parseClusterConfig } from "../../../cluster/config.ts";
import { systemClock } from "../../../lib/clock.ts";
import { defaultCacheDirectory } from "../../../tools/build-tool.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of the administrator's kubeconfig. */
    readonly kubeconfig: string;
    /** Paths of the programs. */
    readonly kubectl: string;
    readonly helm: string;
  }
}

/** Brings the cluster up if it is not, with our chart installed. It is left running: the next run starts at once. */
export async function setup(project: TestProject): Promise<void> {
  const config = parseClusterConfig(["up"], process.env);
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const cacheDirectory = defaultCacheDirectory(process.env);
  const { layout, programs } = await bringUp(config, { cacheDirectory, environment: process.env, say }, systemClock);
  project.provide("kubeconfig", layout.kubeconfig("admin"));
  project.provide("kubectl", programs.kubectl);
  project.provide("helm", programs.helm);
}
