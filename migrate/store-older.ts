import { type CustomResourceDefinition, customResourceDefinitionType } from "../api/core.ts";
import { customResourceDefinitions } from "../api/crd/definitions.ts";
import type { KubeClient } from "../kube/client.ts";
import { isNotFound } from "../kube/errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { MigrateConfig } from "./config.ts";
import { nameOwnersInV1alpha1 } from "./name-owners.ts";
import type { Outcome } from "./outcome.ts";
import { rewriteEverything } from "./rewrite.ts";

const older = "v1alpha1";

// API servers take note of a changed definition a moment after they have answered, each for itself.
const settleMs = 10_000;

interface Version {
  readonly name: string;
  readonly storage: boolean;
}

/**
 * Has the API server store all four kinds in `v1alpha1` again, and rewrites every object, and what they own. Until then
 * the webhook has to convert; a release that knows nothing else can work with all of it afterwards.
 *
 * @throws what `KubeClient` throws.
 */
export async function revertStorage(
  client: KubeClient,
  clock: Clock,
  config: Pick<MigrateConfig, "namespace" | "dryRun">,
  signal: AbortSignal,
): Promise<Outcome> {
  const problems: string[] = [];
  for (const { metadata } of customResourceDefinitions()) {
    const definition = await findDefinition(client, metadata.name, signal);
    if (!definition) continue;
    const versions = (definition.spec?.versions ?? []) as readonly Version[];
    if (!versions.some(({ name }) => name === older)) problems.push(`${metadata.name} does not serve ${older}`);
    else if (!config.dryRun) await storeIn(client, definition, versions, signal);
  }
  if (problems.length > 0) return { written: [], notes: [], problems };
  if (!config.dryRun) await clock.sleep(settleMs, signal);
  const rewritten = await rewriteEverything(client, clock, config, signal);
  const owned = await nameOwnersInV1alpha1(client, config, signal);
  return {
    written: [...rewritten.written, ...owned.written],
    notes: rewritten.notes,
    problems: [...rewritten.problems, ...owned.problems],
  };
}

async function findDefinition(client: KubeClient, name: string, signal: AbortSignal) {
  try {
    return await client.get(customResourceDefinitionType, { name }, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function storeIn(
  client: KubeClient,
  { metadata: { name = "", resourceVersion } }: CustomResourceDefinition,
  versions: readonly Version[],
  signal: AbortSignal,
): Promise<void> {
  const body = {
    metadata: { resourceVersion },
    spec: { versions: versions.map((version) => ({ ...version, storage: version.name === older })) },
  };
  await client.patch(customResourceDefinitionType, { name }, { type: "merge", body }, {}, signal);
}
