import { parse } from "yaml";
import { ConfigError } from "./config-error.ts";

/**
 * The settings of a configuration file, as flags: a YAML map from names of flags to single values.
 *
 * @throws ConfigError when it is something else, or names a flag that there is not.
 */
export function flagsInFile(text: string, path: string, isFlag: (name: string) => boolean): readonly string[] {
  const settings = parseMap(text, path);
  return Object.entries(settings).map(([name, value]) => {
    if (!isFlag(name) || name === "config") throw new ConfigError(`${path}: unknown config key: ${name}`);
    if (typeof value === "object" && value !== null) {
      throw new ConfigError(`${path}: ${name} must be a scalar, not a list or a map`);
    }
    return `--${name}=${value ?? ""}`;
  });
}

function parseMap(text: string, path: string): object {
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw new ConfigError(`${path} is no YAML: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  if (value === null) return {};
  if (typeof value !== "object" || Array.isArray(value))
    throw new ConfigError(`${path} must be a map from flags to values`);
  return value as object;
}
