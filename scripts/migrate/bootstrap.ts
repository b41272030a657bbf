import {
  type SandboxWarmPoolV1alpha1,
  sandboxClaimV1alpha1Type,
  sandboxWarmPoolV1alpha1Type,
} from "../../api/conversion/v1alpha1.ts";
import { keyOf } from "../../api/kinds/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists } from "../../kube/client/errors.ts";
import type { MigrateConfig } from "./config.ts";
import { findConversionLosses } from "./conversion-losses.ts";
import { listServed } from "./list-served.ts";
import type { Outcome } from "./outcome.ts";
import { planPools } from "./plan-pools.ts";

/**
 * Creates the pools that claims of `v1alpha1` will refer to after the upgrade, and lists objects that the conversion
 * cannot represent completely. A second run creates only missing pools.
 *
 * @throws the errors of `KubeClient`.
 */
export async function bootstrap(
  client: KubeClient,
  { namespace, dryRun }: Pick<MigrateConfig, "namespace" | "dryRun">,
  signal: AbortSignal,
): Promise<Outcome> {
  const claims = await listServed(client, sandboxClaimV1alpha1Type, namespace, signal);
  const pools = await listServed(client, sandboxWarmPoolV1alpha1Type, namespace, signal);
  if (!claims || !pools) {
    return { written: [], notes: ["claims and pools are not served in v1alpha1: nothing to do"], problems: [] };
  }
  const { create, notes, problems } = planPools(claims, pools);
  const losses = await findConversionLosses(client, namespace, signal);
  const written: string[] = [];
  for (const pool of create) {
    if (dryRun || (await createPool(client, pool, signal))) written.push(`pool ${keyOf(pool)}`);
  }
  return { written, notes: [...notes, ...losses], problems };
}

/** Whether this call created it. */
async function createPool(client: KubeClient, pool: SandboxWarmPoolV1alpha1, signal: AbortSignal): Promise<boolean> {
  try {
    await client.create(sandboxWarmPoolV1alpha1Type, pool, {}, signal);
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}
