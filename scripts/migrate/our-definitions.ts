import { customResourceDefinitions } from "../../api/crd/definitions.ts";
import { type CustomResourceDefinition, customResourceDefinitionType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { undefinedIfNotFound } from "../../kube/client/errors.ts";

export interface Version {
  readonly name: string;
  readonly served?: boolean;
  readonly storage: boolean;
}

export interface Found {
  readonly definition: Stored<CustomResourceDefinition>;
  readonly versions: readonly Version[];
}

/**
 * Those of our four definitions that exist, as they are now.
 *
 * @throws the errors of `KubeClient.get`.
 */
export async function definitionsOf(client: KubeClient, signal: AbortSignal): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const { metadata } of customResourceDefinitions()) {
    const one = await definitionNamed(metadata.name ?? "", client, signal).catch(undefinedIfNotFound);
    if (one) found.push(one);
  }
  return found;
}

/** @throws the errors of `KubeClient.get`. */
export async function definitionNamed(name: string, client: KubeClient, signal: AbortSignal): Promise<Found> {
  const definition = await client.get(customResourceDefinitionType, { name }, signal);
  return { definition, versions: (definition.spec?.versions ?? []) as readonly Version[] };
}
