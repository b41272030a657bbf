import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { FlagError, type FlagTable, flag, parseFlags } from "../lib/flags/flags.ts";

export const clusterFlags = {
  dir: flag.string("", "directory of the cluster; empty: rouse/cluster in XDG_CACHE_HOME, else in ~/.cache"),
  gvisor: flag.boolean(
    false,
    "build gVisor, run the Pods with runtimeClassName: gvisor in it, and keep the memory of sandboxes with suspensionStrategy.type Hibernate",
  ),
  "install-packages": flag.boolean(false, "install missing Debian packages; needs root"),
} satisfies FlagTable;

export interface ClusterConfig {
  readonly action: "up" | "down";
  readonly directory: string;
  readonly installPackages: boolean;
  readonly gvisor: boolean;
}

/**
 * Reads `[up | down] [flags]`.
 *
 * @throws HelpRequested, FlagError as parseFlags does.
 */
export function parseClusterConfig(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ClusterConfig {
  const [first] = args;
  const action = first === "down" || first === "up" ? first : undefined;
  const { values, rest } = parseFlags(clusterFlags, action ? args.slice(1) : args);
  if (rest.length > 0) throw new FlagError(`unknown command: ${rest.join(" ")}; use "up" or "down"`);
  return {
    action: action ?? "up",
    directory: resolve(values.dir || join(cacheFolder(environment), "rouse", "cluster")),
    installPackages: values["install-packages"],
    gvisor: values.gvisor,
  };
}

const cacheFolder = (environment: Readonly<Record<string, string | undefined>>): string =>
  environment["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
