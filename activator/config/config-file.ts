import { readFile } from "node:fs/promises";
import { parseFlags } from "../../lib/flags/flags.ts";
import { ConfigError } from "./config-error.ts";
import { activatorFlags } from "./flags.ts";

/**
 * Reads the configuration file as flags, which go before those of the command line; the command line wins. `--config` or
 * `SANDBOX_ROUTER_CONFIG` names the file: a YAML map from flag names to single values.
 *
 * @throws HelpRequested, FlagError for flags that do not parse, ConfigError for a file that is unreadable or no such map.
 */
export async function fileFlags(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  const path = parseFlags(activatorFlags, args).values.config || env["SANDBOX_ROUTER_CONFIG"];
  if (!path) return [];
  const settings = await readSettings(path);
  return Object.entries(settings).map(([name, value]) => {
    if (!Object.hasOwn(activatorFlags, name) || name === "config") {
      throw new ConfigError(`${path}: unknown config key: ${name}`);
    }
    if (typeof value === "object" && value !== null) {
      throw new ConfigError(`${path}: ${name} must be a scalar, not a list or a map`);
    }
    return `--${name}=${value ?? ""}`;
  });
}

async function readSettings(path: string): Promise<object> {
  // Few installs have a file, and the YAML parser takes longer to load than everything else that reads settings.
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    value = parse(await readFile(path, "utf8"));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError(`the config file ${path} cannot be read: ${why}`, { cause });
  }
  if (value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value;
  throw new ConfigError(`${path} must be a map from flags to values`);
}
