import type { KubeClient } from "../../kube/client/client.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { MigrateConfig } from "./config.ts";
import { nameOwnersIn } from "./name-owners.ts";
import type { Outcome } from "./outcome.ts";
import { rewriteEverything } from "./rewrite.ts";

/**
 * Rewrites every object and its dependants in `v1beta1`. Afterwards `v1alpha1` need not be served any more: v0.4 has
 * written owner references in it, and without that version the garbage collector would never delete their objects.
 *
 * @throws ApiUnreachable when the API server does not answer.
 */
export async function storeNewer(
  client: KubeClient,
  clock: Clock,
  config: Pick<MigrateConfig, "namespace" | "dryRun">,
  signal: AbortSignal,
): Promise<Outcome> {
  const rewritten = await rewriteEverything(client, clock, config, signal);
  const owned = await nameOwnersIn("v1beta1", client, config, signal);
  return {
    written: [...rewritten.written, ...owned.written],
    notes: rewritten.notes,
    problems: [...rewritten.problems, ...owned.problems],
  };
}
