import type { TestProject } from "vitest/node";
import { parseClusterConfig } from "../../../cluster/config.ts";
import { provideImages } from "../../../cluster/images/provide-images.ts";
import { prepareMachine } from "../../../cluster/prepare-machine.ts";
import { startCluster } from "../../../cluster/start-cluster.ts";
import { systemClock } from "../../../lib/clock.ts";
import { defaultCacheDirectory } from "../../../tools/build-tool.ts";
import { readDefinitions } from "./read-definitions.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of the administrator's kubeconfig. */
    readonly kubeconfig: string;
    /** Path of the program. */
    readonly kubectl: string;
  }
}

/** Brings the cluster up if it is not, with our definitions. It is left running: the next run starts at once. */
export async function setup(project: TestProject): Promise<void> {
  const config = parseClusterConfig(["up"], process.env);
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const cacheDirectory = defaultCacheDirectory(process.env);
  const programs = await prepareMachine(config, { cacheDirectory, environment: process.env, say });
  const { directory } = config;
  const { layout, kubectl } = await startCluster({ directory, programs, clock: systemClock, provideImages });
  await kubectl.apply(await readDefinitions());
  await kubectl.run(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  project.provide("kubeconfig", layout.kubeconfig("admin"));
  project.provide("kubectl", programs.kubectl);
}
