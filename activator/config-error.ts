import type { WithExitStatus } from "../lib/explain.ts";

/** The settings contradict each other; the message names all contradictions, one to a line. */
export class ConfigError extends Error implements WithExitStatus {
  override readonly name = "ConfigError";
  readonly exitStatus = 2;
}
