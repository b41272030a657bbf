import type { WithExitStatus } from "../../lib/guard/explain.ts";

/** The settings contradict each other. The message names every contradiction, one per line. */
export class ConfigError extends Error implements WithExitStatus {
  override readonly name = "ConfigError";
  readonly exitStatus = 2;
}
