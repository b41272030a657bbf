import type { KubeClient } from "../kube/client.ts";
import type { Clock } from "../lib/clock.ts";
import { bootstrap } from "./bootstrap.ts";
import type { MigrateConfig, Phase } from "./config.ts";
import type { Outcome } from "./outcome.ts";
import { rewriteEverything } from "./rewrite.ts";
import { revertStorage } from "./store-older.ts";

export interface MigrateWorld {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** What a person reads. */
  readonly say: (line: string) => void;
}

/**
 * Runs one phase and says what it did. Returns whether the upgrade can go on.
 *
 * @throws what `KubeClient` throws, and the signal's reason.
 */
export async function runMigration(
  config: MigrateConfig,
  { client, clock, say }: MigrateWorld,
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
      return rewriteEverything(client, clock, config, signal);
    case "revert":
      return revertStorage(client, clock, config, signal);
  }
}

function describe({ written, notes, problems }: Outcome, config: MigrateConfig, say: MigrateWorld["say"]): void {
  const { phase, dryRun, namespace } = config;
  const did = phase === "bootstrap" ? "created" : "rewritten";
  for (const line of written) say(`${line} ${dryRun ? "would be " : ""}${did}`);
  for (const note of notes) say(`note: ${note}`);
  for (const problem of problems) say(`problem: ${problem}`);
  const count = dryRun ? `dry run: nothing was written; ${written.length} to be` : written.length;
  say(`${count} ${did}, problems: ${problems.length}`);
  // Of the other namespaces nothing is known.
  const left = whatIsLeft[phase];
  if (left !== undefined && !dryRun && namespace === undefined && problems.length === 0) say(left);
}

const whatIsLeft: Readonly<Record<Phase, string | undefined>> = {
  bootstrap: undefined,
  migrate:
    "everything is stored in v1beta1; v1alpha1 can be taken out of status.storedVersions of the four definitions",
  revert: "everything is stored in v1alpha1; v1beta1 can be taken out of status.storedVersions of the four definitions",
};
