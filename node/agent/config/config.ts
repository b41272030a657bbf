import { isDnsLabel, isDnsSubdomain } from "../../../api/rules/names.ts";
import { parseFlags } from "../../../lib/flags/flags.ts";
import { zapLogLevel } from "../../../lib/flags/zap-flags.ts";
import type { LogLevel } from "../../../lib/log/log.ts";
import { type BindAddress, parseBindAddress } from "../../../lib/net/bind-address.ts";
import type { StoreLimits } from "../decide/observed.ts";
import { usualThreads } from "../doors/disk-places.ts";
import type { RunscSettings } from "../doors/runsc.ts";
import { agentFlags } from "./agent-flags.ts";

/** The configuration of the node agent, read once from its command line. */
export interface AgentConfig {
  /** Print the version and exit. */
  readonly version: boolean;
  /** Path; undefined: taken from the environment. */
  readonly kubeconfig: string | undefined;
  readonly logLevel: LogLevel;
  readonly nodeName: string;
  /** Of the controller. */
  readonly namespace: string;
  readonly runsc: RunscSettings;
  readonly storeRoot: string;
  /** The threads on which this process works with files. */
  readonly threads: number;
  readonly limits: StoreLimits;
  /** What must stay free of the disk; the larger one of this and of `limits` counts. */
  readonly minFreePercent: number;
  /** Undefined: not served. */
  readonly metricsAddress: BindAddress | undefined;
  /** Undefined: not served. */
  readonly healthAddress: BindAddress | undefined;
}

/** The command line was parsed, but a value is invalid: print the message and exit with status 1. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * @throws HelpRequested for `--help`.
 * @throws FlagError for a flag that is not known or does not parse.
 * @throws ConfigError for values that make no sense; its message names them all.
 */
export function parseAgentConfig(args: readonly string[], environment: Environment = {}): AgentConfig {
  const { values, rest } = parseFlags(agentFlags, args);
  const nodeName = values["node-name"] || (environment["NODE_NAME"] ?? "");
  const wrong = rest.map((word) => `unexpected argument: ${word}`);
  const tried = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      wrong.push(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  };
  if (!values.version && !isDnsSubdomain(nodeName)) wrong.push("--node-name must be the name of a node");
  const namespace = values.namespace || (environment["POD_NAMESPACE"] ?? "");
  if (!values.version && !isDnsLabel(namespace)) wrong.push("--namespace must be the name of a namespace");
  for (const name of ["runsc", "runsc-root", "store"] as const) {
    if (!values[name].startsWith("/")) wrong.push(`--${name} must be an absolute path`);
  }
  const config = {
    version: values.version,
    kubeconfig: values.kubeconfig || undefined,
    logLevel: tried(() => zapLogLevel(values)) ?? "info",
    nodeName,
    namespace,
    runsc: { program: values.runsc, root: values["runsc-root"] },
    storeRoot: values.store,
    threads: Number(environment["UV_THREADPOOL_SIZE"]) || usualThreads,
    limits: {
      maxStoreBytes: values["max-store-bytes"],
      minFreeBytes: values["min-free-bytes"],
      maxNamespacePercent: values["max-namespace-percent"],
    },
    minFreePercent: values["min-free-percent"],
    metricsAddress: tried(() => parseBindAddress(values["metrics-bind-address"])),
    healthAddress: tried(() => parseBindAddress(values["health-probe-bind-address"])),
  };
  if (wrong.length > 0) throw new ConfigError(wrong.join("\n"));
  return config;
}
