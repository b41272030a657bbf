import { type FlagTable, type FlagValues, flag, parseFlags } from "../lib/flags.ts";

const port = (value: number) => (value >= 0 && value <= 65_535 ? undefined : "must be a port, 0 to 65535 (0: any)");

export const localFlags = {
  port: flag.integer(8080, "port of the activator: where sandboxes are reached; 0 means any", port),
  "api-port": flag.integer(6443, "port of the API server, for kubectl; 0 means any", port),
  "data-dir": flag.string(".rouse", "where objects, volumes, logs and the kubeconfig are kept"),
  ephemeral: flag.boolean(false, "keep everything in a temporary folder that is removed at the end"),
  example: flag.boolean(true, "make the two example sandboxes and wake one of them"),
  "no-example": flag.boolean(false, "start empty; the same as --example=false"),
  "ready-file": flag.string("", "write a JSON file with the addresses to this path once everything serves"),
  "log-level": flag.string("warn", "debug, info, warn, error or silent; the log goes to standard error", (level) =>
    ["debug", "info", "warn", "error", "silent"].includes(level) ? undefined : "must be a log level",
  ),
} satisfies FlagTable;

export interface LocalConfig {
  readonly port: number;
  readonly apiPort: number;
  /** Undefined: a temporary folder, removed at the end. */
  readonly dataDir: string | undefined;
  readonly examples: boolean;
  readonly readyFile: string | undefined;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

/** @throws HelpRequested, FlagError as parseFlags does. */
export function parseLocalConfig(args: readonly string[]): LocalConfig {
  const { values } = parseFlags(localFlags, args);
  return toConfig(values);
}

function toConfig(values: FlagValues<typeof localFlags>): LocalConfig {
  return {
    port: values.port,
    apiPort: values["api-port"],
    dataDir: values.ephemeral ? undefined : values["data-dir"],
    examples: values.example && !values["no-example"],
    readyFile: values["ready-file"] === "" ? undefined : values["ready-file"],
    logLevel: values["log-level"] as LocalConfig["logLevel"], // its check refused everything else
  };
}
