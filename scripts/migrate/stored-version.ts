import { customResourceDefinitionType } from "../../api/kinds/core.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { MigrateConfig } from "./config.ts";
import { definitionNamed, definitionsOf, type Found } from "./our-definitions.ts";
import { writeOne } from "./write-one.ts";

export type StoredVersion = "v1alpha1" | "v1beta1";

// Each API server applies a changed definition a moment after the response.
const settleMs = 10_000;

export interface Storing {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly config: Pick<MigrateConfig, "namespace" | "dryRun">;
  readonly signal: AbortSignal;
}

export interface StorageChange {
  /** The names of the definitions that stored another version. */
  readonly changed: readonly string[];
  readonly problems: readonly string[];
}

/** The names of the definitions that do not serve this version. */
export const notServing = (version: StoredVersion, found: readonly Found[]): readonly string[] =>
  found.flatMap(({ definition, versions }) =>
    versions.some(({ name, served }) => name === version && served !== false) ? [] : [definition.metadata.name],
  );

/**
 * Makes `version` the storage version of each definition that exists. Then it waits until API servers apply that: also where nothing
 * was changed, because another client may have done it just before. In a dry run it only tells which definitions it would change.
 *
 * @throws the errors of `KubeClient.get`.
 */
export async function storeAllIn(version: StoredVersion, storing: Storing): Promise<StorageChange> {
  const { client, clock, config, signal } = storing;
  const found = await definitionsOf(client, signal);
  const changed = found.filter((each) => !isStoredIn(version, each)).map(({ definition }) => definition.metadata.name);
  if (config.dryRun || found.length === 0) return { changed, problems: [] };
  const problems: string[] = [];
  for (const name of changed) {
    const result = await writeOne(() => storeOneIn(version, name, storing), signal);
    if (result !== "written") problems.push(`the stored version of ${name} is not ${version}: ${causeOf(result)}`);
  }
  if (problems.length === 0) await clock.sleep(settleMs, signal);
  return { changed, problems };
}

const causeOf = (result: "gone" | Error): string => (result === "gone" ? "it was deleted" : result.message);

/**
 * A problem for each definition that does not store `version`, as it is now. Nobody may say in which version objects are stored
 * without this after the last write: a definition may have been replaced meanwhile.
 *
 * @throws the errors of `KubeClient.get`.
 */
export async function storedOtherwise(
  version: StoredVersion,
  { client, config, signal }: Storing,
): Promise<readonly string[]> {
  if (config.dryRun) return [];
  const found = await definitionsOf(client, signal);
  return found
    .filter((each) => !isStoredIn(version, each))
    .map(
      ({ definition }) =>
        `the stored version of ${definition.metadata.name} is no longer ${version}: somebody has changed it while objects were rewritten; run this phase again`,
    );
}

const isStoredIn = (version: StoredVersion, { versions }: Found): boolean =>
  versions.some(({ name, storage }) => storage && name === version);

/** With a precondition on the version that was read: a replaced definition may have other versions. */
async function storeOneIn(version: StoredVersion, name: string, { client, signal }: Storing): Promise<void> {
  const { definition, versions } = await definitionNamed(name, client, signal);
  const { resourceVersion } = definition.metadata;
  const stored = versions.map((each) => ({ ...each, storage: each.name === version }));
  const body = { metadata: { resourceVersion }, spec: { versions: stored } };
  await client.patch(customResourceDefinitionType, { name }, { type: "merge", body }, {}, signal);
}
