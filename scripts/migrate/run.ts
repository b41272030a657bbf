import type { KubeClient } from "../../kube/client/client.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { bootstrap } from "./bootstrap.ts";
import type { MigrateConfig } from "./config.ts";
import { leave } from "./leave.ts";
import type { Outcome } from "./outcome.ts";
import { storeNewer } from "./store-newer.ts";
import { revertStorage } from "./store-older.ts";

export interface MigrateDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Prints a line for the operator. */
  readonly say: (line: string) => void;
}

/**
 * Runs one phase and prints its result. Returns whether the upgrade can go on.
 *
 * @throws the errors of `KubeClient`, and the signal's reason.
 */
export async function runMigration(
  config: MigrateConfig,
  { client, clock, say }: MigrateDependencies,
  signal: AbortSignal,
): Promise<boolean> {
  const outcome = await outcomeOf(config, client, clock, signal);
  describe(outcome, config, say);
  return outcome.problems.length === 0;
}

function outcomeOf(config: MigrateConfig, client: KubeClient, clock: Clock, signal: AbortSignal): Promise<Outcome> {
  switch (config.phase) {
    case "bootstrap":
      return bootstrap(client, config, signal);
    case "migrate":
      return storeNewer(client, clock, config, signal);
    case "leave":
      return leave(client, clock, config, signal);
    case "revert":
      return revertStorage(client, clock, config, signal);
  }
}

function describe(
  { written, notes, problems, reached }: Outcome,
  config: MigrateConfig,
  say: MigrateDependencies["say"],
): void {
  const { phase, dryRun, namespace } = config;
  const did = phase === "bootstrap" ? "created" : "rewritten";
  for (const line of written) say(`${line} ${dryRun ? "would be " : ""}${did}`);
  for (const note of notes) say(`note: ${note}`);
  for (const problem of problems) say(`problem: ${problem}`);
  const count = dryRun ? `dry run: nothing was written; ${written.length} to be` : written.length;
  say(`${count} ${did}, problems: ${problems.length}`);
  // With --namespace, the other namespaces may still need the phase.
  if (reached !== undefined && !dryRun && namespace === undefined && problems.length === 0) say(reached);
}
