import type { KubeClient } from "../../kube/client/client.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { MigrateConfig } from "./config.ts";
import { nameOwnersIn } from "./name-owners.ts";
import { definitionsOf } from "./our-definitions.ts";
import type { Outcome } from "./outcome.ts";
import { rewriteEverything } from "./rewrite.ts";
import { notServing, storeAllIn, storedOtherwise } from "./stored-version.ts";

const newer = "v1beta1";

/**
 * Makes `v1beta1` the storage version of all four kinds where it is not, as after the phase `revert`, and rewrites every object and its
 * dependants in it. Afterwards `v1alpha1` need not be served any more: v0.4 has written owner references in it, and without that
 * version the garbage collector would never delete their objects.
 *
 * @throws the errors of `KubeClient`.
 */
export async function storeNewer(
  client: KubeClient,
  clock: Clock,
  config: Pick<MigrateConfig, "namespace" | "dryRun">,
  signal: AbortSignal,
): Promise<Outcome> {
  const unserved = notServing(newer, await definitionsOf(client, signal));
  if (unserved.length > 0) {
    const problems = unserved.map((name) => `${name} does not serve ${newer}: upgrade the definitions first`);
    return { written: [], notes: [], problems };
  }
  const storing = { client, clock, config, signal };
  const { changed, problems } = await storeAllIn(newer, storing);
  if (problems.length > 0) return { written: [], notes: [], problems };
  const rewritten = await rewriteEverything(client, clock, config, signal);
  const owned = await nameOwnersIn(newer, client, config, signal);
  const change = config.dryRun ? "would change" : "has changed";
  return {
    written: [...rewritten.written, ...owned.written],
    notes: [
      ...changed.map((name) => `the stored version of ${name} ${change} to ${newer}, for the whole cluster`),
      ...rewritten.notes,
    ],
    problems: [...rewritten.problems, ...owned.problems, ...(await storedOtherwise(newer, storing))],
    reached,
  };
}

const reached = `all objects are stored in ${newer}, and no owner reference uses v1alpha1; you can remove v1alpha1 from status.storedVersions of the four definitions`;
