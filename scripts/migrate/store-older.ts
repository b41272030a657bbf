import type { KubeClient } from "../../kube/client/client.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { MigrateConfig } from "./config.ts";
import { keepDefinitions } from "./keep-definitions.ts";
import { nameOwnersIn } from "./name-owners.ts";
import { definitionsOf, type Version } from "./our-definitions.ts";
import type { Outcome } from "./outcome.ts";
import { rewriteEverything } from "./rewrite.ts";
import { notServing, storeAllIn, storedOtherwise } from "./stored-version.ts";
import { whoLeads } from "./who-leads.ts";

const older = "v1alpha1";
const newer = "v1beta1";

/**
 * Sets the storage version of all four kinds to `v1alpha1`, and rewrites every object and its dependants. Until then
 * the webhook must convert. Afterwards a release that knows only `v1alpha1` can read all objects.
 *
 * The definitions keep the annotations that keep them: the next step of a rollback may be one that deletes definitions.
 *
 * The webhook is part of a controller. While it runs, the leader goes on writing owner references in `v1beta1`. So this
 * phase must run again once the older release is in place and `v1beta1` is no longer served. Then it only changes owner
 * references.
 *
 * @throws the errors of `KubeClient`.
 */
export async function revertStorage(
  client: KubeClient,
  clock: Clock,
  config: Pick<MigrateConfig, "namespace" | "dryRun">,
  signal: AbortSignal,
): Promise<Outcome> {
  const found = await definitionsOf(client, signal);
  const unserved = notServing(older, found).map((name) => `${name} does not serve ${older}`);
  if (unserved.length > 0) return { written: [], notes: [], problems: unserved };
  const kept = await keepDefinitions(client, config, signal);
  if (kept.problems.length > 0) return kept;
  const isBack = found.length > 0 && !found.some(({ versions }) => versions.some(isServedNewer));
  if (isBack) {
    const owned = await nameOwnersIn(older, client, config, signal);
    return { ...owned, written: [...kept.written, ...owned.written], reached: ownersAreNamed };
  }
  const storing = { client, clock, config, signal };
  const { problems } = await storeAllIn(older, storing);
  if (problems.length > 0) return { ...kept, problems };
  const rewritten = await rewriteEverything(client, clock, config, signal);
  const owned = await nameOwnersIn(older, client, config, signal);
  return {
    written: [...kept.written, ...rewritten.written, ...owned.written],
    notes: [...rewritten.notes, ...aboutNamespace(config), ...(await whoLeads(client, clock, signal))],
    problems: [...rewritten.problems, ...owned.problems, ...(await storedOtherwise(older, storing))],
    reached: `all objects are stored in ${older}; you can remove ${newer} from status.storedVersions of the four definitions`,
  };
}

/** A definition has one storage version for the whole cluster. */
function aboutNamespace({ namespace, dryRun }: Pick<MigrateConfig, "namespace" | "dryRun">): readonly string[] {
  if (namespace === undefined) return [];
  const change = dryRun ? "would change" : "has changed";
  return [
    `the stored version ${change} to ${older} for the whole cluster, but objects were rewritten in namespace ${namespace} only: run this phase without --namespace before the rollback`,
  ];
}

const ownersAreNamed = `${newer} is no longer served, and no owner reference uses it`;

const isServedNewer = ({ name, served }: Version): boolean => name === newer && served !== false;
